"""Feeds deliver events and changes to services."""

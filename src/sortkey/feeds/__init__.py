"""Feeds deliver events to services."""

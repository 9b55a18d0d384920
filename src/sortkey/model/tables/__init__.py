"""Declared tables: their settings, and the requests that create them."""

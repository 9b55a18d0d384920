"""Rows: how items, index rows and expiry entries are laid out as bytes."""

"""Calls that read or write whole tables: scans, deletes of many items, index keys of existing rows."""

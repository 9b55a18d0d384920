"""Aggregates: counts, totals and extremes of a table's items, kept by its change feed, exactly once."""

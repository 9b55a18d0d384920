"""Partial updates: changes of fields, conditions, and the index keys that follow."""

"""Consumers of a table's changes, from its stream."""

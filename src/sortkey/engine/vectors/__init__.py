"""Searches of vector indexes: what they keep in memory, and the scores."""

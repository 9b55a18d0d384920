"""Ranks and top lists of items by a number that they have."""

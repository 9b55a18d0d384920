"""Bounded collections: sets, and rows with a counted parent, that never have more than N members."""

"""Patterns over the model: what programs build from items again and again, done once."""

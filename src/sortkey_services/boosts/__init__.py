"""Boosts: which partners of a search page run a sponsored campaign, here and now, and how far up it lifts them."""

"""Pricing: what a store or a product costs, what it cost, and what it will cost, to the second."""

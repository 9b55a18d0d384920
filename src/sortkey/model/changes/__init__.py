"""Partial updates: operators, conditions, and the plan that keeps index keys consistent."""

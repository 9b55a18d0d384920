"""Favourites: marks of users, and how many each restaurant has, counted from the table's changes."""

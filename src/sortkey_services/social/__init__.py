"""Social: users who follow each other, their pins, orders, products and leaderboards, in one table with one index."""

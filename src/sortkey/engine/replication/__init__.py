"""Keeps the replicas of a table in several stores alike: which there are, what they share, and what was written."""

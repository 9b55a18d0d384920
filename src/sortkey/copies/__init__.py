"""Copies of live stores: tables, rows, and the changes that are made meanwhile."""

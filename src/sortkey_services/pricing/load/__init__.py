"""Loads files of prices: `sortkey load pricing`."""

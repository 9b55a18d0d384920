"""The consistency check of a data folder."""

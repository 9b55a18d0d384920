"""Generations: a bulk load is written beside what is served and becomes visible at once, by one pointer."""

"""Saving goals: what a nightly batch has computed, with the deposits that it has not seen yet."""

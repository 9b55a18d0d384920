"""The janitor and its steps: work in the background, in small transactions."""

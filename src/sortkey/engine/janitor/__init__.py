"""What the janitor does in the background, in small transactions."""

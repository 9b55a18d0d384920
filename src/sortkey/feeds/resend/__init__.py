"""Dead letters: found, sent again, dropped."""

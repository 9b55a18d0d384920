"""The HTTP app: services behind one port, and what all of them need: errors, tokens, limits, metrics, documentation."""

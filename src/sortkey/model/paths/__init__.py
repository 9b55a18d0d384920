"""Access paths: what can be asked of a key or an index, and what it costs."""

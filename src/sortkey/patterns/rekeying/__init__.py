"""Re-keying: a new key design is filled beside the old one, while both are used, and takes over by a flag."""

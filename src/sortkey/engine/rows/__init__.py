"""What is in the store: rows, catalog entries and other records; and the write batch, which changes them."""

"""The records of a table's stream, as changes of items."""

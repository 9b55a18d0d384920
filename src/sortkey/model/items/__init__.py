"""Item classes: their keys, access paths and tables, their schemas, and how rows are read."""

"""Item classes: their fields, schemas and conversion from and to rows."""

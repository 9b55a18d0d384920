"""The types of fields, and the forms in which their values are stored."""

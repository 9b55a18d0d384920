"""Table definitions: checked, kept in the catalog, changed and described."""

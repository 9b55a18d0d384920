"""What a table is declared to be: checked, changed and described."""

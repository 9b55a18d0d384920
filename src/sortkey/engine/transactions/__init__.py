"""What TransactWriteItems and TransactGetItems share."""

"""The DynamoDB endpoint: bytes to operations to bytes (pure), and the sockets that carry them (`server`)."""

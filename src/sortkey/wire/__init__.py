"""The DynamoDB endpoint: HTTP requests to operations (`endpoint`), on sockets (`server`), in one or more processes."""

"""HTTP without DynamoDB: sockets, parsing, answers and the metrics' text format."""

"""HTTP/1.1 servers: sockets, parsing, answers, metrics and their text format. Nothing here knows what is served."""

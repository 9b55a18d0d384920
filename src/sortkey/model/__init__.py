"""Items, keys and access paths, declared once; sessions send the requests."""

"""Tables: the catalog, keys, index rows and expiry entries; how a table is defined, changed and described."""

"""Tables, access paths, raw requests and edits, as the console's page shows them."""

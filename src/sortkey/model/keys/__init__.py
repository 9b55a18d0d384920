"""Keys: templates, encodings and the attributes that hold them."""

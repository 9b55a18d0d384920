"""The keys of items: templates, the encodings of their fields, shards, and the attributes that hold them."""

"""Overlays: recent items that replace fields of a base item until the base has caught up with them."""

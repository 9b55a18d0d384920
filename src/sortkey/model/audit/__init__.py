"""Compares stored rows with the declarations, and repairs what follows from them."""

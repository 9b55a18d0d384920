"""Change feeds on every store."""

from __future__ import annotations

from tests.stores import dynamodb_local, our_endpoint, store

__all__ = ["dynamodb_local", "our_endpoint", "store"]

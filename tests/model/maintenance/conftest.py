"""The sessions of tests/model/sessions, on every store."""

from __future__ import annotations

from tests.model.sessions.conftest import db, dynamodb_local, memory, our_endpoint, store

__all__ = ["db", "dynamodb_local", "memory", "our_endpoint", "store"]

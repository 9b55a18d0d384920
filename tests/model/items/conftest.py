from __future__ import annotations

from tests.model.sessions.conftest import db, memory

__all__ = ["db", "memory"]

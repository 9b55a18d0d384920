"""The sessions of tests/model/sessions, on every store, with the audited table."""

from __future__ import annotations

import pytest

import sortkey as sk
from tests.model.audit.audited import AUDITED
from tests.model.sessions.conftest import db, memory

__all__ = ["audited", "db", "live", "memory"]


@pytest.fixture
def audited(db: sk.Session) -> sk.Session:
    db.create_tables(AUDITED)
    return db


@pytest.fixture
def live(memory: sk.Session) -> sk.Session:
    """A sync session in memory, whose steps a test can interleave with writes."""
    memory.create_tables(AUDITED)
    return memory

"""Bounded collections on every store."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import sortkey as sk
from tests.patterns.bounded_sets.boards import ALBUMS, BOARDS, Album, Board


@pytest.fixture
def db(store: str) -> Iterator[sk.Session]:
    """An open session, with an empty board and an empty album."""
    with sk.connect(store, tables=[BOARDS, ALBUMS]) as session:
        yield prepared(session)


@pytest.fixture
def memory() -> Iterator[sk.Session]:
    with sk.connect("memory:", tables=[BOARDS, ALBUMS]) as session:
        yield prepared(session)


def prepared(session: sk.Session) -> sk.Session:
    session.create_tables()
    session.put(Board(user="ada"))
    session.put(Album(id="holidays"))
    return session

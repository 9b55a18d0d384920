"""One PostgreSQL for each test worker, started by the first test that asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.maven import Unavailable
from tests.postgres.server import PostgresServer, running


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    try:
        with running() as server:
            yield server
    except Unavailable as error:
        pytest.skip(f"no PostgreSQL: {error}")


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> str:
    """A database of its own for the test."""
    return postgres.database()

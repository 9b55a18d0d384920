"""One server for all tests that need nothing of their own, and a database for those without a server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sortkey.engine.database import Database
from tests.wire.serving import RawClient, ServerProcess, table


@pytest.fixture(scope="session")
def server() -> Iterator[ServerProcess]:
    process = ServerProcess("--memory")
    yield process
    assert process.stop() == 0


Serve = Callable[..., ServerProcess]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts servers of the test's own; one that a failing test leaves behind is killed."""
    started: list[ServerProcess] = []

    def start(*arguments: str | Path, address_space: int | None = None) -> ServerProcess:
        started.append(ServerProcess(*arguments, address_space=address_space))
        return started[-1]

    yield start
    for server in started:
        if server.process.poll() is None:
            server.kill()


@pytest.fixture
def client(server: ServerProcess) -> Iterator[RawClient]:
    """One connection to the shared server."""
    raw = RawClient(server.url)
    yield raw
    raw.close()


@pytest.fixture
def database() -> Iterator[Database]:
    """In memory, with the table `orders`."""
    database = Database(None)
    database.call("CreateTable", table("orders"))
    yield database
    database.close()

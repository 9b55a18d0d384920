"""One server for all tests that need nothing of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.wire.serving import RawClient, ServerProcess


@pytest.fixture(scope="session")
def server() -> Iterator[ServerProcess]:
    process = ServerProcess("--memory")
    yield process
    assert process.stop() == 0


@pytest.fixture
def client(server: ServerProcess) -> Iterator[RawClient]:
    """One connection to the shared server."""
    raw = RawClient(server.url)
    yield raw
    raw.close()

"""The documentation page in a real browser that can reach nothing but the server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.chromium import needs_chromium, rendered
from tests.server.serving import Process

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def server() -> Iterator[Process]:
    process = Process("serve", "notes", "--store", "memory:", "--demo")
    yield process
    process.end()


def test_it_shows_every_route_with_its_fields(server: Process, tmp_path: Path) -> None:
    seen = rendered(f"{server.url}/docs", tmp_path)
    for path in ("/notes/{shelf}/search", "/notes/{shelf}/{name}", "/health", "/metrics"):
        assert path in seen
    assert {"GET", "PUT", "POST", "DELETE", "Some notes, by their names.", "Send"} <= set(seen)
    assert "list of string" in seen
    assert "Loading…" not in seen
    assert not any("Cannot show" in piece for piece in seen)

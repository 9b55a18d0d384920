"""The documentation page in a real browser that can reach nothing but the server."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.server.serving import Process

CHROMIUM = shutil.which("chromium")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed; tools/chromium.sh does that")


@pytest.fixture(scope="module")
def server() -> Iterator[Process]:
    process = Process("serve", "notes", "--store", "memory:", "--demo")
    yield process
    process.end()


class Text(HTMLParser):
    """What a reader sees, in pieces."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self._hidden += tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        if not self._hidden and data.strip():
            self.pieces.append(data.strip())


def rendered(url: str, profile: Path) -> list[str]:
    """The page after its scripts have run."""
    assert CHROMIUM is not None
    command = [
        CHROMIUM,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        # The page can load nothing from other hosts.
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        f"--user-data-dir={profile}",
        "--virtual-time-budget=5000",
        "--dump-dom",
        url,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    text = Text()
    text.feed(done.stdout)
    return text.pieces


def test_it_shows_every_route_with_its_fields(server: Process, tmp_path: Path) -> None:
    seen = rendered(f"{server.url}/docs", tmp_path)
    for path in ("/notes/{shelf}/search", "/notes/{shelf}/{name}", "/health", "/metrics"):
        assert path in seen
    assert {"GET", "PUT", "POST", "DELETE", "Some notes, by their names.", "Send"} <= set(seen)
    assert "list of string" in seen
    assert "Loading…" not in seen
    assert not any("Cannot show" in piece for piece in seen)

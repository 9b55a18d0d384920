"""A real browser, which can reach nothing but this machine."""

from __future__ import annotations

import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium")

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed; tools/chromium.sh does that")


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


def rendered(url: str, profile: Path, *names: str) -> list[str]:
    """The page after its scripts have run. These names lead to this machine; no others lead anywhere."""
    assert CHROMIUM is not None
    command = [CHROMIUM, *options(profile, *names), "--virtual-time-budget=5000", "--dump-dom", url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    text = Text()
    text.feed(done.stdout)
    return text.pieces


def options(profile: Path, *names: str) -> list[str]:
    """Of a browser without a screen. These names lead to this machine; no others lead anywhere."""
    rules = [*(f"MAP {name} 127.0.0.1" for name in names), "MAP * ~NOTFOUND", "EXCLUDE 127.0.0.1", "EXCLUDE localhost"]
    return [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        f"--host-resolver-rules={', '.join(rules)}",
        f"--user-data-dir={profile}",
    ]

"""The console in a real browser, as somebody at the screen and the keyboard uses it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

from tests.browser.devtools import CONTROL, Tab, tab

ROOT = Path(__file__).parents[2]
AXE = ROOT / "console" / "node_modules" / "axe-core" / "axe.min.js"
SECONDS = 60
needs_axe = pytest.mark.skipif(
    not AXE.exists(), reason="axe-core is not installed; tools/console.sh packages does that"
)
WATCH = """
window.problems = [];
addEventListener("error", (event) => problems.push(event.message));
addEventListener("unhandledrejection", (event) => problems.push(String(event.reason)));
addEventListener("securitypolicyviolation", (event) => problems.push(event.violatedDirective + " " + event.blockedURI));
"""
FIND = """((text) => [...document.querySelectorAll("button, a, summary, [role=tab], label")]
  .find((each) => each.checkVisibility() && each.textContent.trim().startsWith(text) && !each.disabled))"""


@contextmanager
def demonstration() -> Iterator[str]:
    """The URL of `sortkey up` with its demonstration data."""
    command = [sys.executable, "-m", "sortkey", "up", "--store", "memory:", "--port", "0", "--db-port", "0"]
    process = subprocess.Popen(
        [*command, "--access-log", "off"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().removeprefix("ready ").strip()
    finally:
        process.kill()
        process.communicate()


class Console:
    def __init__(self, profile: Path) -> None:
        self._runner = asyncio.Runner()
        self._context = tab(profile)
        self._tab: Tab | None = None

    def __enter__(self) -> Console:
        self._tab = self._wait(self._context.__aenter__())
        self._wait(self._tab.before_pages(WATCH))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._wait(self._context.__aexit__(kind, error, trace))
        self._runner.close()

    def open(self, url: str, view: str = "overview") -> None:
        """Opens the page anew."""
        self.show_as()
        self._wait(self._page.open("about:blank"))
        self._wait(self._page.open(f"{url}/#/{view}"))

    def allow_clipboard(self, url: str) -> None:
        """Pages of this server may copy, and read what was copied."""
        self._wait(self._page.allow_clipboard(url))

    def show_as(self, width: int = 1280, *, dark: bool = False) -> None:
        """The same page in a window of another width, or in the other theme."""
        self._wait(self._page.show_as(width, dark=dark))

    def run(self, script: str) -> Any:
        return self._wait(self._page.run(script))

    def wait_for(self, condition: str) -> Any:
        try:
            return self._wait(self._page.wait_for(condition))
        except TimeoutError:
            raise AssertionError(f"not so: {condition}; the page shows: {self.text('body')[:2000]}") from None

    def wait_for_text(self, *texts: str) -> None:
        for text in texts:
            self.wait_for(f"document.body.innerText.includes({json.dumps(text)})")

    def text(self, selector: str = "main") -> str:
        return str(self.run(f"document.querySelector({json.dumps(selector)}).innerText"))

    def count(self, selector: str) -> int:
        return int(self.run(f"document.querySelectorAll({json.dumps(selector)}).length"))

    def click(self, text: str) -> None:
        """The first button, link or tab that begins with this text, as soon as there is one."""
        self.wait_for(f"((found) => found && (found.click(), true))({FIND}({json.dumps(text)}))")

    def fill(self, label: str, text: str) -> None:
        """The field with this label, in place of what is in it."""
        self.run(f"document.querySelector({json.dumps(label)}).select()")
        self.write(text)

    def focus(self, selector: str) -> None:
        self.run(f"document.querySelector({json.dumps(selector)}).focus()")

    def press(self, key: str, times: int = 1, *, control: bool = False, shift: bool = False) -> None:
        self._wait(self._page.press(key, times, (CONTROL if control else 0) | (8 if shift else 0)))

    def write(self, text: str) -> None:
        self._wait(self._page.write(text))

    def picture(self) -> bytes:
        shown: bytes = self._wait(self._page.picture())
        return shown

    def problems(self) -> list[str]:
        """Errors of scripts, and what the content security policy has refused."""
        return list(self.run("window.problems"))

    def violations(self) -> list[str]:
        """What axe-core finds in the page as it is."""
        if not self.run("'axe' in window"):
            self.run(f"{AXE.read_text()}; true")
        found = json.loads(self.run("axe.run().then((result) => JSON.stringify(result.violations))"))
        return [f"{each['id']}: {node['html'][:200]}" for each in found for node in each["nodes"]]

    def is_too_wide(self) -> bool:
        """Whether one has to scroll sideways to read."""
        return bool(self.run("document.documentElement.scrollWidth > innerWidth"))

    @property
    def _page(self) -> Tab:
        assert self._tab is not None
        return self._tab

    def _wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._runner.run(asyncio.wait_for(work, SECONDS))

"""A real browser that a test drives: it opens pages, runs scripts in them, and can reach nothing but this machine."""

from __future__ import annotations

import itertools
import json
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from tests.browser.chromium import CHROMIUM, options

LARGEST_MESSAGE = 64 * 1024 * 1024


class Tab:
    """A page, by Chromium's DevTools protocol."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)

    async def open(self, url: str) -> None:
        """Returns when the page has loaded with its scripts."""
        await self._send("Page.enable")
        await self._send("Page.navigate", url=url)
        while (await self._receive()).get("method") != "Page.loadEventFired":
            pass

    async def run(self, script: str) -> Any:
        """The value of an expression; if it is a promise, what that resolves to."""
        answer = await self._send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    async def wait_for(self, condition: str) -> Any:
        """The value of an expression, as soon as it is true: it is evaluated again after every change of the page."""
        return await self.run(
            f"""new Promise((resolve) => {{
              const look = () => {{
                const found = {condition};
                if (found) {{ observer.disconnect(); resolve(found); }}
              }};
              const observer = new MutationObserver(look);
              observer.observe(document, {{ subtree: true, childList: true, characterData: true, attributes: true }});
              look();
            }})"""
        )

    async def _send(self, method: str, **parameters: Any) -> Any:
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        while (answer := await self._receive()).get("id") != number:
            pass
        assert "error" not in answer, answer["error"]
        return answer["result"]

    async def _receive(self) -> dict[str, Any]:
        received: dict[str, Any] = json.loads(await self._socket.receive_str())
        return received


@asynccontextmanager
async def tab(profile: Path) -> AsyncIterator[Tab]:
    assert CHROMIUM is not None
    command = [CHROMIUM, *options(profile), "--remote-debugging-port=0", "about:blank"]
    browser = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    try:
        assert browser.stderr is not None
        line = next(line for line in browser.stderr if "DevTools listening on" in line)
        address = line.split("ws://")[1].split("/")[0]
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://{address}/json/list") as answer:
                (page,) = [each for each in await answer.json() if each["type"] == "page"]
            async with session.ws_connect(page["webSocketDebuggerUrl"], max_msg_size=LARGEST_MESSAGE) as socket:
                yield Tab(socket)
    finally:
        browser.terminate()
        browser.communicate()

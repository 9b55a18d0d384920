"""A real browser that a test drives: it opens pages, runs scripts in them, and can reach nothing but this machine."""

from __future__ import annotations

import base64
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
KEY_CODES = {
    "Tab": 9,
    "Enter": 13,
    "Escape": 27,
    " ": 32,
    "PageUp": 33,
    "PageDown": 34,
    "End": 35,
    "Home": 36,
    "ArrowLeft": 37,
    "ArrowUp": 38,
    "ArrowRight": 39,
    "ArrowDown": 40,
}
KEY_TEXTS = {"Enter": "\r", " ": " "}
SHIFT, CONTROL = 8, 2


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

    async def before_pages(self, script: str) -> None:
        """Runs in each page that is opened from now on, before its own scripts."""
        await self._send("Page.enable")
        await self._send("Page.addScriptToEvaluateOnNewDocument", source=script)

    async def press(self, key: str, times: int = 1, modifiers: int = 0) -> None:
        """A key of the keyboard, as often as that."""
        code = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": KEY_CODES[key]}
        text = {"text": KEY_TEXTS[key]} if key in KEY_TEXTS else {}
        for _ in range(times):
            await self._send("Input.dispatchKeyEvent", type="keyDown", modifiers=modifiers, **code, **text)
            await self._send("Input.dispatchKeyEvent", type="keyUp", modifiers=modifiers, **code)

    async def write(self, text: str) -> None:
        """What somebody types into the element that has the focus."""
        await self._send("Input.insertText", text=text)

    async def show_as(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        """The size of the window, and the theme that the system asks for."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        await self._send("Emulation.setDeviceMetricsOverride", **metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self._send("Emulation.setEmulatedMedia", features=[scheme])

    async def allow_clipboard(self, origin: str) -> None:
        """A page without the focus may not use it, and a browser without a screen has none by itself."""
        await self._send("Emulation.setFocusEmulationEnabled", enabled=True)
        allowed = ["clipboardReadWrite", "clipboardSanitizedWrite"]
        await self._send("Browser.grantPermissions", origin=origin, permissions=allowed)

    async def picture(self) -> bytes:
        """What the window shows, as WebP."""
        return base64.b64decode((await self._send("Page.captureScreenshot", format="webp", quality=85))["data"])

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

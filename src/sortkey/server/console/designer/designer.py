"""Starts the designer's process for a request."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from typing import Final

import msgspec

from sortkey.server.console.access import Viewer
from sortkey.server.console.designer.design import Design, DesignRequest
from sortkey.server.console.routes import Route, Routes, invalid

SECONDS: Final = 20.0
ROWS: Final = 1_000_000
ITEM_BYTES: Final = 400 * 1024
_MODULE: Final = "sortkey.server.console.designer.child"

_logger = logging.getLogger(__name__)


class Designer:
    def __init__(self) -> None:
        self._one = asyncio.Lock()

    def routes(self) -> Routes:
        return {"design": Route(DesignRequest, self.design)}

    async def design(self, _: Viewer, wanted: DesignRequest) -> Design:
        if not (1 <= wanted.rows <= ROWS and 1 <= wanted.row_bytes <= ITEM_BYTES and 0 <= wanted.per_second < ROWS):
            raise invalid(f"rows is from 1 to {ROWS:,}, rowBytes to {ITEM_BYTES:,}, perSecond less than {ROWS:,}.")
        async with self._one:
            answer = await _answer(msgspec.json.encode(wanted))
        if not answer:
            raise invalid("The classes are too many, or too involved, to be designed here.")
        return msgspec.json.decode(answer, type=Design)


async def _answer(request: bytes) -> bytes:
    """Empty if the process ended without one."""
    # Without the server's environment, which may have credentials.
    places = [path for path in sys.path if os.path.isabs(path)]
    environment = {"PYTHONPATH": os.pathsep.join(places), "PATH": os.defpath}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        _MODULE,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment,
        cwd=os.sep,
    )
    try:
        async with asyncio.timeout(SECONDS):
            answer, errors = await process.communicate(request)
    except TimeoutError:
        return b""
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if errors:
        _logger.warning("the key designer failed: %s", errors.decode(errors="replace").strip().rpartition("\n")[2])
    return answer if process.returncode == 0 else b""

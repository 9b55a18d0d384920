"""Programs that end without closing their store: what they read on standard error is ours, and only if asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.wire.serving import ServerProcess

SYNC = """
import sortkey as sk
db = sk.connect({url!r})
db.client.list_tables()
"""
ASYNC = """
import asyncio, sortkey as sk
async def main():
    db = await sk.async_connect({url!r})
    await db.client.list_tables()
    {end}
asyncio.run(main())
"""
PROGRAMS = {
    "sync": SYNC,
    "async": ASYNC.replace("{end}", "pass"),
    "async, exit": ASYNC.replace("{end}", "raise SystemExit(0)"),
    "async, kept": ASYNC.replace("{end}", "global kept; kept = db"),
}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    server = ServerProcess("--memory")
    yield server.url
    server.stop()


@pytest.mark.slow
@pytest.mark.parametrize("store", ["memory:", "endpoint"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_libraries_write_nothing(program: str, store: str, url: str) -> None:
    code = PROGRAMS[program].format(url=url if store == "endpoint" else store)
    keys = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y", "AWS_DEFAULT_REGION": "us-east-1"}
    ended = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | keys, capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")

"""aiobotocore is an optional dependency: only an async remote store needs it."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

EMBEDDED = """
    import asyncio, sys
    sys.modules["aiobotocore"] = sys.modules["boto3"] = sys.modules["aiohttp"] = None  # as if not installed
    import sortkey as sk

    async def main():
        async with sk.async_client("memory:?prefix=a-") as client:
            async for page in client.get_paginator("list_tables").paginate():
                assert page["TableNames"] == []
            assert client.get_waiter("table_exists").name == "table_exists"
        async with sk.async_connect("memory:") as db:
            assert await db.create_tables() == []

    asyncio.run(main())
    with sk.connect("memory:") as db:
        db.client.get_paginator("scan")
    sk.client("http://localhost:1?store=aws").close()
"""
ASYNC_REMOTE = """
    import sys
    sys.modules["aiobotocore"] = None
    import sortkey as sk

    try:
        sk.async_client("http://localhost:1")
    except ImportError as error:
        assert "pip install 'sortkey[aws]'" in str(error)
    else:
        sys.exit(1)
"""


@pytest.mark.parametrize("program", [EMBEDDED, ASYNC_REMOTE], ids=["all else works", "an async remote store does not"])
@pytest.mark.slow
def test_without_aiobotocore(program: str) -> None:
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True)


def test_one_module_imports_aiobotocore() -> None:
    source = Path(__file__).parents[2] / "src"
    statement = re.compile(r"""^\s*(from|import) aiobotocore|import_module\(["']aiobotocore""", re.MULTILINE)
    assert [path.name for path in source.rglob("*.py") if statement.search(path.read_text())] == ["remote_async.py"]

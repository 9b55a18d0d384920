"""The curl lines of the README and of docs/services/boosts.md give the answers that stand below them."""

from __future__ import annotations

import asyncio
import re
import shlex
from pathlib import Path

import pytest

import sortkey as sk
from sortkey.server.app import app_of
from sortkey_services.boosts import service_definition
from tests.server.calling import call

ROOT = Path(__file__).parents[3]
EXAMPLE = re.compile(r"^```sh\n(curl .*?)\n```\n+```json\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
PAGES = ("README.md", "docs/services/boosts.md")


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.slow
def test_the_examples_answer_as_shown(page: str) -> None:
    examples = EXAMPLE.findall((ROOT / page).read_text(encoding="utf-8"))
    assert len(examples) >= 2

    async def told() -> None:
        async with sk.async_connect("memory:", tables=service_definition.BOOSTS.tables({})) as session:
            service = service_definition.BOOSTS.make(session, {})
            await service.start()
            assert isinstance(service, sk.services.Demonstrated)
            await service.load_demo(lambda _done, _total: None)
            front = app_of([service])
            for command, shown in examples:
                _, _, url, _, body = shlex.split(command)
                path = url.removeprefix("localhost:8080")
                # What curl says of its own accord.
                answer = await call(
                    front, "POST", path, body.encode(), content_type="application/x-www-form-urlencoded"
                )
                assert answer.body.decode() == shown

    asyncio.run(told())

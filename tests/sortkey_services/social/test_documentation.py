"""The examples of docs/services/social.md: its programs run, and its curl lines give the answers below them."""

from __future__ import annotations

import asyncio
import re
import shlex
import sys
from pathlib import Path
from types import ModuleType

import pytest

import sortkey as sk
from sortkey.server.app import app_of
from sortkey_services.social.service_definition import SOCIAL
from tests.server.calling import call

PAGE = (Path(__file__).parents[3] / "docs" / "services" / "social.md").read_text(encoding="utf-8")
PROGRAM = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(r"^```sh\n(curl .*?)\n```\n+```json\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
CURSOR = re.compile(r'(?<=Cursor":")[^"]+')


def test_the_programs_run() -> None:
    # Classes look for the types of their fields in their module.
    module = ModuleType("example_social")
    sys.modules[module.__name__] = module
    try:
        for program in PROGRAM.findall(PAGE):
            exec(compile(program, "social.md", "exec"), vars(module))
    finally:
        vars(module)["db"].close()
        del sys.modules[module.__name__]


@pytest.mark.slow
def test_the_examples_answer_as_shown() -> None:
    examples = EXAMPLE.findall(PAGE)
    assert len(examples) >= 3

    async def told() -> None:
        async with sk.async_connect("memory:", tables=SOCIAL.tables({})) as session:
            service = SOCIAL.make(session, {})
            await service.start()
            assert isinstance(service, sk.services.Demonstrated)
            await service.load_demo(lambda _done, _total: None)
            async with sk.feeds.Follower(session, service.feeds) as follower:
                await follower.caught_up()
            front = app_of([service])
            for command, shown in examples:
                path = shlex.split(command)[2].removeprefix("localhost:8080")
                answer = await call(front, "GET", path)
                assert CURSOR.sub("…", answer.body.decode()) == shown

    asyncio.run(told())

"""The curl lines of docs/services/pricing.md give the answers that stand below them."""

from __future__ import annotations

import asyncio
import re
import shlex
from pathlib import Path
from typing import Any

import sortkey as sk
from sortkey.server.app import app_of
from sortkey_services.pricing.model import CHANGES, PRICES
from sortkey_services.pricing.service import PricingService
from tests.server.calling import call

PAGE = (Path(__file__).parents[3] / "docs" / "services" / "pricing.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(r"^```sh\n(curl .*?)\n```\n+```json\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
CHANGING = (
    (re.compile(r'(?<=Cursor":")[^"]+'), "…"),
    (re.compile(r'(?<="recordedAt":")[^"]+'), "…"),
    (re.compile(r'"Wy[\w-]+"'), '"…"'),
)


def shown(answer: str) -> str:
    """An answer without what differs each time: cursors, ids, and when a change was accepted."""
    for pattern, replacement in CHANGING:
        answer = pattern.sub(replacement, answer)
    return answer


def test_the_examples_answer_as_shown() -> None:
    examples = EXAMPLE.findall(PAGE)
    assert len(examples) == PAGE.count("\ncurl ") >= 6

    async def told() -> None:
        async with sk.async_connect("memory:", tables=[PRICES, CHANGES]) as session:
            service: Any = PricingService(session)
            await service.start()
            front = app_of([service])
            for command, answer in examples:
                arguments = shlex.split(command)
                path = next(each for each in arguments if "localhost" in each).removeprefix("localhost:8080")
                body = arguments[arguments.index("-d") + 1].encode() if "-d" in arguments else None
                method = (
                    arguments[arguments.index("-X") + 1] if "-X" in arguments else "GET" if body is None else "POST"
                )
                found = await call(front, method, path, body)
                assert shown(found.body.decode()) == answer

    asyncio.run(told())

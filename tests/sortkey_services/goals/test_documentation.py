"""The story of docs/services/goals.md: its curl lines give the answers that stand below them."""

from __future__ import annotations

import asyncio
import re
import shlex
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

import sortkey as sk
from sortkey.clock import ManualClock
from sortkey.server.app import app_of
from sortkey_services.goals.demo import Demo
from sortkey_services.goals.model import TABLES
from sortkey_services.goals.service import GoalsService
from tests.server.calling import Answer, call

PAGE = (Path(__file__).parents[3] / "docs" / "services" / "goals.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(r"^```sh\n(curl .*?)\n```\n+```json\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
DATE = "'$(date -u +%FT%TZ)'"
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z|(?<=\"month\":\")\d{4}-\d\d")
NIGHT = "The demonstration's night is a minute long."
# In the future: a store deletes by its own clock what has expired.
MORNING = datetime(2100, 5, 16, 9, tzinfo=UTC)


class Story:
    """The demonstration, and a clock that goes on with every command."""

    def __init__(self, session: sk.AsyncSession, clock: ManualClock) -> None:
        self._session = session
        self._clock = clock

    async def run(self, command: str) -> Answer:
        self._clock.advance(60)
        # The same second for all of a command.
        now = datetime.fromtimestamp(self._clock.now(), UTC)
        words = shlex.split(command.replace(DATE, f"{now:%FT%TZ}"))
        path = next(word for word in words if word.startswith("localhost:8080")).removeprefix("localhost:8080")
        body = msgspec.json.decode(words[words.index("-d") + 1]) if "-d" in words else None
        method = words[words.index("-X") + 1] if "-X" in words else "GET" if body is None else "POST"
        # Anew: as if the reader had renewed what it remembers of the load that is served.
        front = app_of([GoalsService(self._session, clock=self._clock)])
        return await call(front, method, path, body)

    async def night(self) -> None:
        self._clock.advance(60)
        await Demo(self._session, self._clock).run_batch()


@pytest.mark.slow
def test_the_story_goes_as_told() -> None:
    before, after = PAGE.split(NIGHT)
    assert len(EXAMPLE.findall(before)) >= 4

    async def told() -> None:
        clock = ManualClock(MORNING.timestamp())
        async with sk.async_connect("memory:", tables=TABLES, clock=clock) as session:
            service = GoalsService(session, clock=clock)
            await service.start()
            await service.load_demo(lambda _done, _total: None)
            story = Story(session, clock)
            for part in (before, after):
                for command, shown in EXAMPLE.findall(part):
                    answer = await story.run(command)
                    assert INSTANT.sub("…", answer.body.decode()) == INSTANT.sub("…", shown), command
                await story.night()

    asyncio.run(told())


@pytest.mark.slow
def test_what_is_rejected_is_taken_away() -> None:
    *_, (rejected, _) = EXAMPLE.findall(PAGE)
    assert "REJECTED" in rejected

    async def told() -> None:
        clock = ManualClock((MORNING + timedelta(hours=1)).timestamp())
        async with sk.async_connect("memory:", tables=TABLES, clock=clock) as session:
            service = GoalsService(session, clock=clock)
            await service.start()
            await service.load_demo(lambda _done, _total: None)
            before = await service.read("ana")
            assert (await Story(session, clock).run(rejected)).status == 202
            assert await service.read("ana") == before

    asyncio.run(told())

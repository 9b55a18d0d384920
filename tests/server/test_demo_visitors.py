"""The visitors of demonstrations."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest
from botocore.exceptions import ClientError

from sortkey.server import lifecycle as module
from sortkey.server.lifecycle import demo_visitors
from sortkey.services.interface import Progress, Service


class Demonstration:
    """A service whose visitors come for ever; the store fails at first, as often as it is told to."""

    name = "shown"

    def __init__(self, failures: int = 0) -> None:
        self._failures = failures
        self.came = asyncio.Event()
        self.left = False

    async def load_demo(self, progress: Progress) -> None: ...

    async def run_demo(self) -> None:
        if self._failures:
            self._failures -= 1
            raise ClientError({"Error": {"Code": "ThrottlingException", "Message": "slow down"}}, "PutItem")
        self.came.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.left = True


def shown(*services: Demonstration) -> list[Service]:
    return cast("list[Service]", list(services))


def test_visitors_come_while_the_server_runs_and_leave_with_it() -> None:
    async def whole() -> None:
        service = Demonstration()
        async with demo_visitors(shown(service)):
            await service.came.wait()
            assert not service.left
        assert service.left

    asyncio.run(whole())


def test_an_error_of_the_store_is_logged_and_they_come_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "PAUSE_SECONDS", 0)

    async def whole() -> None:
        service = Demonstration(failures=2)
        async with demo_visitors(shown(service)):
            await service.came.wait()

    asyncio.run(whole())
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "the demonstration of shown pauses"
    ] * 2

"""`sk.testing`: a store for a test, with a clock and faults."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Annotated

import pytest
from botocore.exceptions import ClientError

import sortkey as sk


class Note(sk.Item, table="testing-notes"):
    name: str
    created: Annotated[datetime | None, sk.created] = None

    key = sk.Key("NOTE#{name}")


NOON = datetime(2050, 1, 1, 12, tzinfo=UTC)


def test_each_store_is_new() -> None:
    for _ in range(2):
        with sk.testing.local(Note) as db:
            assert db.put(Note(name="a"), if_absent=True)


def test_the_clock_is_the_sessions() -> None:
    clock = sk.testing.ManualClock(NOON.timestamp())
    with sk.testing.local(Note, clock=clock) as db:
        db.put(Note(name="a"))
        assert db.get(Note.key(name="a")) == Note(name="a", created=NOON)


def test_the_faults_are_the_stores() -> None:
    with (
        sk.testing.local(Note, faults=sk.testing.Faults(throttle=1.0)) as db,
        pytest.raises(ClientError, match="Throttling"),
    ):
        db.client.get_item(TableName="testing-notes", Key={"pk": {"S": "NOTE#a"}})


def test_an_async_store() -> None:
    async def put_and_get() -> Note | None:
        clock = sk.testing.ManualClock(NOON.timestamp())
        async with sk.testing.async_local(Note, clock=clock) as db:
            await db.put(Note(name="a"))
            return await db.get(Note.key(name="a"))

    assert asyncio.run(put_and_get()) == Note(name="a", created=NOON)

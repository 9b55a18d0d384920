"""What `sk.patterns.schedule` rejects, at import."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import pytest

import sortkey as sk
from sortkey.patterns.schedules import Occurrence
from tests.patterns.schedules.reminders import NOON, Reminder


class Shipment(sk.Item, table=sk.Table("schedule-shipments", stream="NEW_AND_OLD_IMAGES")):
    store: str
    number: int
    ship_at: datetime
    booked: date | None = None

    key = sk.Key("STORE#{store}", "SHIPMENT#{number:06}")
    by_time = sk.Index("times", "STORE#{store}", "{ship_at}", local=True)
    everywhere = sk.Index("all", "TIMES", "{ship_at}")


class Silent(sk.Item, table="schedule-silent"):
    id: str
    at: datetime
    key = sk.Key("ID#{id}")


OTHER: Any = Reminder.key


def test_a_schedule_by_item() -> None:
    schedule = sk.patterns.schedule("reminders", Reminder, at="at")
    assert repr(schedule) == "<schedule reminders of Reminder by user, number>"


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda: sk.patterns.schedule("a b", Reminder, at="at"), "the name of a schedule has 1 to 80 letters"),
        (lambda: sk.patterns.schedule("x" * 81, Reminder, at="at"), "the name of a schedule has 1 to 80 letters"),
        (lambda: sk.patterns.schedule("r", Reminder, at="ta"), "Reminder has no field 'ta'"),
        (lambda: sk.patterns.schedule("r", Reminder, at="text"), "Reminder.text must be a datetime"),
        (lambda: sk.patterns.schedule("r", Shipment, at="booked"), "Shipment.booked must be a datetime"),
        (lambda: sk.patterns.schedule("r", Reminder, at="at", by=("usr",)), "Reminder has no field 'usr'"),
        (
            lambda: sk.patterns.schedule("r", Reminder, at="at", by="user"),
            r"by= takes several fields, such as \('user',\)",
        ),
        (lambda: sk.patterns.schedule("r", Reminder, at="at", by=()), "by= names the fields of Reminder"),
        (lambda: sk.patterns.schedule("r", Reminder, at="at", shards=0), "shards is a number from 1 to 256, not 0"),
        (lambda: sk.patterns.schedule("r", Reminder, at="at", where={"txt": "x"}), "Reminder has no field 'txt'"),
        (
            lambda: sk.patterns.schedule("r", Silent, at="at"),
            'sk.Table\\("schedule-silent", stream="NEW_AND_OLD_IMAGES"\\)',
        ),
        (
            lambda: sk.patterns.schedule("r", Reminder, at="at", by=("number",)),
            "cannot be found by Reminder.key: its partition key has user, and by= only number",
        ),
        (
            lambda: sk.patterns.schedule("r", Shipment, at="ship_at", path=Shipment.everywhere),
            "Shipment.everywhere is a global index, which cannot be read consistently",
        ),
        (
            lambda: sk.patterns.schedule("r", Shipment, at="ship_at", path=OTHER),
            "Reminder.key is not a key of Shipment",
        ),
    ],
)
def test_what_a_schedule_rejects(declare: Any, message: str) -> None:
    with pytest.raises((sk.DeclarationError, sk.UnknownField), match=message):
        declare()


def test_a_time_that_is_neither_a_field_nor_a_function() -> None:
    with pytest.raises(sk.DeclarationError, match="at= is a field of Reminder, or a function"):
        sk.patterns.schedule("r", Reminder, at=3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"attempts": 0}, "attempts is a number from 1 on, not 0"),
        ({"parallel": None}, "parallel is a number from 1 on, not None"),
        ({"poll": 0}, "poll is a number of seconds above 0, not 0"),
    ],
)
def test_what_timers_reject(arguments: dict[str, Any], message: str) -> None:
    async def on_due(_: sk.patterns.Due[Reminder]) -> None: ...

    with pytest.raises(sk.DeclarationError, match=f"timers r: {message}"):
        sk.feeds.Timers(sk.patterns.schedule("r", Reminder, at="at"), on_due, **arguments)


def test_timers_need_a_schedule() -> None:
    async def on_due(_: sk.patterns.Due[Reminder]) -> None: ...

    with pytest.raises(sk.DeclarationError, match="takes a schedule, of sk"):
        sk.feeds.Timers(Reminder, on_due)  # type: ignore[arg-type]


# Handlers use it as the token of a transaction, which has 36 characters at most.
def test_the_key_of_an_occurrence_tells_it_from_all_others() -> None:
    keys = {
        Occurrence(group, at).key(schedule)
        for group in ('["a"]', '["b"]')
        for at in (NOON, NOON.replace(microsecond=1))
        for schedule in ("r", "s")
    }
    assert len(keys) == 8
    assert {len(key) for key in keys} == {32}

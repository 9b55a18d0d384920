"""Rows with times, dates and UUIDs in the forms of other programs: conditions are of what their items show."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Annotated, Any
from uuid import UUID

import pytest

import sortkey as sk

ADA = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"


class Imported(sk.Item, table="imported-rows"):
    id: str
    at: datetime | None = None
    whole: Annotated[datetime, sk.seconds] | None = None
    expires: Annotated[datetime, sk.epoch] | None = None
    day: date | None = None
    user: UUID | None = None
    other_day: date | None = None
    revision: int = 0

    key = sk.Key("IMPORTED#{id}")


NOON = datetime(2026, 8, 24, 12, tzinfo=UTC)
HALF_PAST_THREE = datetime(2026, 8, 24, 15, 30, tzinfo=UTC)
FOREIGN: dict[str, Any] = {
    "at": {"S": "2026-08-24 15:30:00.000000Z"},
    "whole": {"S": "2026-08-24T10:30:00-05:00"},
    "expires": {"S": "2026-08-24T15:30:00.000000Z"},
    "day": {"S": "20260824"},
    "user": {"S": ADA.upper()},
}
EARLIER: dict[str, Any] = {
    "at": NOON,
    "whole": NOON,
    "expires": NOON,
    "day": date(2026, 8, 23),
    "user": UUID(int=7),
}
SHOWN: dict[str, Any] = {
    "at": HALF_PAST_THREE,
    "whole": HALF_PAST_THREE,
    "expires": HALF_PAST_THREE,
    "day": date(2026, 8, 24),
    "user": UUID(ADA),
}


@pytest.fixture
def foreign(db: sk.Session) -> sk.Session:
    """A session with the row of another program."""
    db.create_tables(Imported)
    db.client.put_item(TableName="imported-rows", Item={"pk": {"S": "IMPORTED#1"}, "id": {"S": "1"}, **FOREIGN})
    return db


ONE = Imported.key(id="1")


@pytest.mark.parametrize("name", FOREIGN)
def test_reads_compare_what_the_item_shows(foreign: sk.Session, name: str) -> None:
    shown, earlier = SHOWN[name], EARLIER[name]
    for condition, matches in (
        (shown, True),
        (sk.one_of(shown), True),
        (sk.above(earlier), True),
        (sk.at_most(shown), True),
        (sk.below(shown), False),
        (sk.at_most(earlier), False),
        (sk.other_than(shown), False),
        (~sk.one_of(shown), False),
    ):
        where = {name: condition}
        assert len(list(foreign.scan(Imported, where=where))) == matches, where
        assert len(list(foreign.iterate(ONE, where=where))) == matches, where
        assert foreign.count(ONE, where=where) == matches, where


@pytest.mark.parametrize("name", FOREIGN)
def test_writes_compare_what_the_item_shows(foreign: sk.Session, name: str) -> None:
    shown, earlier = SHOWN[name], EARLIER[name]
    for condition in (sk.below(shown), sk.at_most(earlier), sk.other_than(shown)):
        with pytest.raises(sk.ConditionFailed):
            foreign.update(ONE, {"revision": 1}, where={name: condition})
        assert foreign.delete_all(Imported, where={name: condition}, scan=True).items == 0
    for condition in (shown, sk.above(earlier), sk.at_least(shown)):
        assert foreign.update(ONE, {"revision": 1}, where={name: condition}).revision == 1
    assert foreign.delete(ONE, where={name: shown}) is not None


# The text of a foreign time may sort below that of an earlier one: the older item replaced the newer.
@pytest.mark.parametrize("name", FOREIGN)
def test_newer_by_compares_what_the_item_shows(foreign: sk.Session, name: str) -> None:
    assert not foreign.put(Imported(id="1", **{name: EARLIER[name]}), newer_by=name)
    assert not foreign.put(Imported(id="1", **{name: SHOWN[name]}), newer_by=name)
    later: Any = UUID(int=2**128 - 1) if name == "user" else SHOWN[name].replace(year=2027)
    assert foreign.put(Imported(id="1", **{name: later}), newer_by=name)


def test_fields_are_compared_with_fields_by_what_the_item_shows(foreign: sk.Session) -> None:
    foreign.update(ONE, {"other_day": date(2026, 8, 24)})
    assert foreign.count(ONE, where={"other_day": sk.at_most(sk.value_of("day"))}) == 1
    assert foreign.count(ONE, where={"other_day": sk.other_than(sk.value_of("day"))}) == 0
    assert foreign.update(ONE, {"revision": 1}, where={"day": sk.at_least(sk.value_of("other_day"))}).revision == 1

"""Formats of fields in keys, as other programs wrote them: exact both ways, or rejected."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from enum import IntEnum
from typing import Any
from uuid import UUID

import pytest

import sortkey as sk
from sortkey.model.errors import DeclarationError, KeyPartError
from sortkey.model.fields.annotation import Annotation
from sortkey.model.fields.key_text import Encoding
from sortkey.model.keys.field_encoding import encoding_of
from sortkey.model.keys.template import Template, parse_template

TEN = datetime(2026, 1, 4, 10, 0, 0, tzinfo=UTC)
FINE = TEN + timedelta(milliseconds=42)
ID = UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")


class Level(IntEnum):
    LOW = 3


def encoding(base: Any, spec: str) -> Encoding:
    return encoding_of(Annotation(base, optional=False, inexact=False), spec, followed=False)


def template(text: str, **types: Any) -> Template:
    annotations = {name: Annotation(base, optional=False, inexact=False) for name, base in types.items()}
    return Template(parse_template(text), annotations)


@pytest.mark.parametrize(
    ("base", "spec", "value", "text"),
    [
        (str, "raw", "New York $5", "New York $5"),
        (str, "raw", "", ""),
        (int, "d", 3, "3"),
        (int, "d", 0, "0"),
        (int, "d", -30, "-30"),
        (int, "d", 10**30, "1" + "0" * 30),
        (Level, "d", Level.LOW, "3"),
        (int, "desc", 7, "Z2"),
        (int, "desc", 0, "a0"),
        (int, "desc", -42, "b42"),
        (int, "desc", 10**30, "AY688" + "9" * 30),
        (Level, "desc", Level.LOW, "Z6"),
        (UUID, "upper", ID, "6BA7B810-9DAD-11D1-80B4-00C04FD430C8"),
        (UUID, "hex", ID, "6ba7b8109dad11d180b400c04fd430c8"),
        (UUID, "HEX", ID, "6BA7B8109DAD11D180B400C04FD430C8"),
        (datetime, "%Y-%m-%dT%H:%M:%SZ", TEN, "2026-01-04T10:00:00Z"),
        (datetime, "%Y-%m-%dT%H:%M:%S+00:00", TEN, "2026-01-04T10:00:00+00:00"),
        (datetime, "%Y-%m-%dT%H:%M:%S.%LZ", FINE, "2026-01-04T10:00:00.042Z"),
        (datetime, "%Y-%m-%d %H:%M:%S.%f", FINE, "2026-01-04 10:00:00.042000"),
        (datetime, "%Y%m%d%H%M", TEN, "202601041000"),
        (datetime, "%d.%m.%Y %H:%M", TEN, "04.01.2026 10:00"),
        (datetime, "%s", TEN, "1767520800"),
        (datetime, "%s%L", FINE, "1767520800042"),
        (datetime, "100%%%Y%m%d%H", TEN, "100%2026010410"),
        (date, "%Y%m%d", date(2026, 1, 4), "20260104"),
        (date, "%d/%m/%Y", date(987, 1, 4), "04/01/0987"),
    ],
)
def test_formats(base: Any, spec: str, value: Any, text: str) -> None:
    made = template(f"T#{{field:{spec}}}", field=base)
    assert made.build([value]) == f"T#{text}"
    assert made.matches(f"T#{text}")
    assert made.parse(f"T#{text}") == {"field": value}


def test_times_are_written_in_utc() -> None:
    made = encoding(datetime, "%Y-%m-%dT%H:%M:%SZ")
    assert made.encode(datetime(2026, 1, 4, 12, tzinfo=timezone(timedelta(hours=2)))) == "2026-01-04T10:00:00Z"


# Such a row would be read as an item whose key is another one.
@pytest.mark.parametrize(
    ("base", "spec", "text"),
    [
        (int, "d", "03"),
        (int, "d", "-0"),
        (int, "d", "+3"),
        (int, "d", " 3"),
        (int, "d", "٣"),
        (int, "d", ""),
        (int, "06", "٠٠٠٠٠٣"),
        (UUID, "upper", str(ID)),
        (UUID, "hex", str(ID)),
        (UUID, "HEX", ID.hex),
        (datetime, "%Y-%m-%dT%H:%M:%SZ", "2026-01-04T10:00:00.000Z"),
        (datetime, "%Y-%m-%dT%H:%M:%SZ", "2026-1-4T10:00:00Z"),
        (datetime, "%Y-%m-%dT%H:%M:%SZ", "2026-13-04T10:00:00Z"),
        (datetime, "%Y-%m-%dT%H:%M:%SZ", "2026-02-30T10:00:00Z"),
        (datetime, "%s", "0767520800"),
        (date, "%Y%m%d", "20260230"),
    ],
)
def test_texts_that_the_format_would_not_write_are_not_read(base: Any, spec: str, text: str) -> None:
    assert template(f"T#{{field:{spec}}}", field=base).parse(f"T#{text}") is None


@pytest.mark.parametrize(
    ("base", "spec", "value", "said"),
    [
        (str, "raw", "a\U0010ffffb", "contains U\\+10FFFF"),
        (str, "raw", 3, "expected str"),
        (int, "d", True, "expected int"),
        (int, "d", "3", "expected int"),
        (UUID, "upper", str(ID), "expected UUID"),
        (datetime, "%Y-%m-%dT%H:%M:%SZ", FINE, "has parts that the format '%Y-%m-%dT%H:%M:%SZ' does not write"),
        (datetime, "%Y-%m-%dT%H:%M:%S.%LZ", FINE + timedelta(microseconds=1), "has parts that"),
        (datetime, "%Y-%m-%d", TEN, "has parts that"),
        (datetime, "%s", FINE, "has parts that"),
        (datetime, "%s", datetime(2001, 1, 1, tzinfo=UTC), "does not have 10 digits"),
        (datetime, "%s", datetime(1960, 1, 1, tzinfo=UTC), "does not have 10 digits"),
        (datetime, "%Y%m%d", datetime(2026, 1, 4), "has no time zone"),  # noqa: DTZ001
        (date, "%Y%m%d", TEN, "expected date"),
    ],
)
def test_values_that_the_format_cannot_write_are_rejected(base: Any, spec: str, value: Any, said: str) -> None:
    with pytest.raises(KeyPartError, match=said):
        encoding(base, spec).encode(value)


@pytest.mark.parametrize(
    ("base", "spec", "said"),
    [
        (str, "title", "the format 'title' of a text is not raw, lower or upper"),
        (bool, "d", "is for str, int, datetime, date, time or UUID"),
        (int, "x", "is not d or desc, nor 0 and a width"),
        (UUID, "lower", "is not one of upper, hex, HEX"),
        (datetime, "%Y-%m", "must have %Y, %m and %d, or %s alone"),
        (datetime, "%s%H", "or %s alone"),
        (datetime, "%Y%m%d%L%f", "has a part of the time twice"),
        (datetime, "%Y-%m-%dT%H:%M:%S%z", "contains %z; a key can have .* and UTC as Z"),
        (datetime, "%Y%m%d%", "contains %;"),
        (datetime, "iso", "must have %Y"),
        (datetime, "%Y#%m#%d", "contains #"),
        (date, "%Y%m%d%H", "and no other"),
    ],
)
def test_formats_that_cannot_work_are_rejected(base: Any, spec: str, said: str) -> None:
    with pytest.raises(DeclarationError, match=said):
        encoding(base, spec)


class Message(sk.Item, table="formatted-messages"):
    room: str
    number: int
    at: datetime

    key = sk.Key("ROOM#{room}", "MSG#{at:%Y-%m-%dT%H:%M:%SZ}#{number:d}")
    by_day = sk.Index("gsi1", "ROOM#{room}", "{at:%d.%m.%Y %H:%M:%S}")


# 10 is below 9 as text, so a range would return what nobody asked for.
def test_a_range_needs_texts_that_sort() -> None:
    room = Message.key(room="a")
    assert room.between(TEN, TEN).condition is not None
    messages, days = Message.key(room="a", at=TEN), Message.by_day(room="a")
    ranges: list[tuple[Callable[..., object], tuple[Any, ...]]] = [
        (messages.between, (1, 10)),
        (messages.before, (10,)),
        (messages.after, (10,)),
        (messages.starting, ("1",)),
        (days.after, (TEN,)),
    ]
    for ranged, limits in ranges:
        with pytest.raises(sk.NoAccessPath, match=r"keys do not sort by (number|at), because of its format"):
            ranged(*limits)


class League(IntEnum):
    FIRST = 1
    SECOND = 2


class Standing(sk.Item, table="formatted-standings"):
    game: str
    player: str
    points: int
    league: League = League.SECOND

    key = sk.Key("GAME#{game}", "PLAYER#{player}")
    top = sk.Index("top", "GAME#{game}", "{points:desc}#{player}")
    by_league = sk.Index("league", "GAME#{game}", "LEAGUE#{league:desc}#{player}")


# Read backward, a list by points upward has its ties backward, too.
def test_a_list_goes_down_by_a_number_and_up_by_what_follows(store: str) -> None:
    with sk.connect(store, tables=[Standing]) as db:
        db.create_tables()
        points = {"eve": 7, "bob": 12, "ada": 7, "cyd": 0, "dan": -3, "fay": 100}
        db.batch(put=[Standing(game="chess", player=player, points=points[player]) for player in points])
        top = Standing.top(game="chess")

        def players(path: sk.AccessPath[Standing]) -> list[str]:
            return [each.player for each in db.iterate(path)]

        assert players(top) == ["fay", "bob", "ada", "eve", "cyd", "dan"]
        assert players(top.after(7)) == ["fay", "bob"]
        assert players(top.before(7)) == ["cyd", "dan"]
        assert players(top.between(0, 12)) == ["bob", "ada", "eve", "cyd"]
        assert players(Standing.top(game="chess", points=7)) == ["ada", "eve"]
        leagues = Standing.by_league(game="chess")
        assert players(leagues.after(League.FIRST)) == sorted(points)
        assert players(leagues.before(League.SECOND)) == []
        with pytest.raises(sk.KeyPartError, match="the range from 12 to 0 is empty"):
            top.between(12, 0)
        db.update(Standing.key(game="chess", player="dan"), [sk.F(Standing.points).add(50)])
        assert players(top.after(7)) == ["fay", "dan", "bob"]
        assert db.audit(Standing).is_clean


# "New York#" is below "New#", since a space is below the separator.
def test_a_raw_text_has_ranges_at_the_end_only() -> None:
    class Place(sk.Item, table="formatted-places"):
        country: str
        city: str
        street: str
        key = sk.Key("{country:raw}", "{city:raw}#{street:raw}")

    with pytest.raises(sk.NoAccessPath, match="keys do not sort by city"):
        Place.key(country="US").starting("New")
    path = Place.key(country="US", city="New York").starting("5th ")
    assert path.condition is not None
    assert path.condition.values == ({"S": "New York#5th "},)


# 1 is a prefix of 12: after 1, only a separator ends it.
def test_an_unpadded_number_ends_its_segment() -> None:
    with pytest.raises(sk.DeclarationError, match="put a # after it"):

        class Odd(sk.Item, table="formatted-odd"):
            number: int
            key = sk.Key("ODD", "{number:d}-x")


def test_keys_that_others_wrote_are_read_and_written(store: str) -> None:
    with sk.connect(store, tables=[Message]) as db:
        db.create_tables()
        row = {
            "pk": {"S": "ROOM#a"},
            "sk": {"S": "MSG#2026-01-04T10:00:00Z#3"},
            "gsi1pk": {"S": "ROOM#a"},
            "gsi1sk": {"S": "04.01.2026 10:00:00"},
            "room": {"S": "a"},
            "number": {"N": "3"},
            "at": {"S": "2026-01-04T10:00:00.000000Z"},
        }
        db.client.put_item(TableName="formatted-messages", Item=row)
        message = Message(room="a", number=3, at=TEN)
        assert db.get(Message.key(room="a", at=TEN, number=3)) == message
        assert list(db.iterate(Message.key(room="a"))) == [message]
        assert db.count(Message.key(room="a").between(TEN, TEN)) == 1
        assert list(db.iterate(Message.by_day(room="a", at=TEN))) == [message]
        db.put(message)
        assert db.client.scan(TableName="formatted-messages")["Count"] == 1

"""Any readable form of a value, any condition: the store, the session and a plain comparison of what the item shows
agree, for reads and for writes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from math import floor
from typing import Annotated, Any
from uuid import UUID

import msgspec
from hypothesis import given
from hypothesis import strategies as st

import sortkey as sk

DAY = datetime(2026, 8, 24, tzinfo=UTC)


class Spot(msgspec.Struct):
    x: int
    y: int = 0


class Formed(sk.Item, table="formed-values"):
    id: str
    at: datetime | None = None
    whole: Annotated[datetime, sk.seconds] | None = None
    expires: Annotated[datetime, sk.epoch] | None = None
    user: UUID | None = None
    ratio: Annotated[float, sk.inexact] | None = None
    spot: Spot | None = None
    moments: list[datetime] | None = None
    either: datetime | int | None = None
    users: set[UUID] = sk.field(default_factory=set)

    key = sk.Key("FORMED#{id}")


times = st.integers(0, 4).map(lambda half: DAY + timedelta(seconds=half / 2))
zones = st.sampled_from([UTC, timezone(timedelta(hours=2)), timezone(-timedelta(hours=5))])
users = st.integers(0xA, 0xC).map(lambda number: UUID(int=number * 0x1111))
ratios = st.sampled_from([0.0, 0.1, 0.2, 0.30000000000000004, 0.3])
spots = st.builds(Spot, st.integers(0, 1), st.integers(0, 1))
texts = st.builds(
    lambda time, zone, separator: time.astimezone(zone).isoformat(separator), times, zones, st.sampled_from("T ")
) | times.map(lambda time: time.strftime("%Y-%m-%dT%H:%M:%S.%fZ"))
user_texts = st.builds(
    lambda user, form: form(str(user)), users, st.sampled_from([str, str.upper, lambda u: f"{{{u}}}"])
)
numbers = st.builds(
    lambda ratio, tail: f"{Decimal(repr(ratio)) + Decimal(tail)}", ratios, st.sampled_from(["0", "1E-25"])
)

STORED: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "at": texts.map(lambda text: {"S": text}),
    "whole": texts.map(lambda text: {"S": text}),
    "expires": texts.map(lambda text: {"S": text})
    | st.integers(0, 4).map(lambda half: {"N": str(Decimal(int(DAY.timestamp())) + Decimal(half) / 2)}),
    "user": user_texts.map(lambda text: {"S": text}),
    "ratio": numbers.map(lambda text: {"N": text}),
    "spot": st.fixed_dictionaries(
        {"x": st.integers(0, 1).map(lambda x: {"N": str(x)})},
        optional={"y": st.integers(0, 1).map(lambda y: {"N": str(y)}), "z": st.just({"S": "other"})},
    ).map(lambda content: {"M": content}),
    "moments": st.lists(texts.map(lambda text: {"S": text}), max_size=2).map(lambda content: {"L": content}),
    "either": texts.map(lambda text: {"S": text}) | st.integers(0, 2).map(lambda number: {"N": str(number)}),
    "users": st.sets(user_texts, min_size=1, max_size=3).map(lambda content: {"SS": sorted(content)}),
}
WANTED: dict[str, st.SearchStrategy[Any]] = {
    "at": times,
    "whole": times,
    "expires": times,
    "user": users,
    "ratio": ratios,
    "spot": spots,
    "moments": st.lists(times, max_size=2),
    "either": times | st.integers(0, 2),
    "users": st.sets(users, min_size=1, max_size=2),
}
COMPARED: dict[str, Callable[[Any], Any]] = {
    "whole": lambda time: floor(time.timestamp()),
    "expires": lambda time: floor(time.timestamp()),
    "user": str,
}
ORDERED = {"at", "whole", "expires", "user", "ratio", "either"}
OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "below": lambda shown, limit: shown < limit,
    "at_most": lambda shown, limit: shown <= limit,
    "above": lambda shown, limit: shown > limit,
    "at_least": lambda shown, limit: shown >= limit,
}


def holds(field: str, name: str, shown: Any, wanted: Any) -> bool:
    """The condition, of Python values."""
    if not shown and field == "users":
        shown = None
    convert = COMPARED.get(field, lambda value: value)
    left, right = None if shown is None else convert(shown), convert(wanted)
    if name in ("equal", "other_than"):
        return bool((left == right) == (name == "equal"))
    return type(left) is type(right) and OPERATORS[name](left, right)


@st.composite
def cases(draw: st.DrawFn) -> tuple[dict[str, Any], list[tuple[str, str, bool, Any]]]:
    """A row, and conditions: field, name, whether it is negated, and the value."""
    fields = draw(st.lists(st.sampled_from(sorted(STORED)), min_size=1, max_size=3, unique=True))
    row = {field: draw(STORED[field]) for field in fields if draw(st.integers(0, 5))}
    conditions = []
    for field in fields:
        names = ["equal", "other_than", *(OPERATORS if field in ORDERED else ())]
        conditions.append((field, draw(st.sampled_from(names)), draw(st.booleans()), draw(WANTED[field])))
    return row, conditions


def condition(name: str, negated: bool, wanted: Any) -> Any:
    made = sk.one_of(wanted) if name == "equal" else getattr(sk, name)(wanted)
    return ~made if negated else made


@given(cases(), st.booleans())
def test_conditions_are_of_what_the_item_shows(
    case: tuple[dict[str, Any], list[tuple[str, str, bool, Any]]], every: bool
) -> None:
    row, conditions = case
    path = Formed.key(id="1")
    with sk.connect("memory:") as db:
        db.create_tables(Formed)
        db.client.put_item(TableName="formed-values", Item={"pk": {"S": "FORMED#1"}, "id": {"S": "1"}, **row})
        item = db.get(path)
        results = [
            holds(field, name, getattr(item, field), wanted) != negated for field, name, negated, wanted in conditions
        ]
        expected = all(results) if every else any(results)
        join = sk.all_of if every else sk.any_of
        where = join(*({field: condition(name, negated, wanted)} for field, name, negated, wanted in conditions))
        assert len(list(db.scan(Formed, where=where))) == expected
        assert db.count(path, where=where) == expected
        try:
            db.delete(path, where=where)
            assert expected
        except sk.ConditionFailed:
            assert not expected

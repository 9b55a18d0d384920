"""Whatever rows are stored, a condition matches exactly the items that `get` shows as matching. A row that `get` cannot
show raises there, and an audit counts it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import Annotated, Any, NamedTuple
from uuid import UUID

import msgspec
from hypothesis import given
from hypothesis import strategies as st

import sortkey as sk
from sortkey.model.changes.typed_field import field_of

DAY = datetime(2026, 8, 24, tzinfo=UTC)
NULL = {"NULL": True}


class Spot(msgspec.Struct):
    x: int
    y: int


class Address(msgspec.Struct):
    street: str
    city: str = "Rome"
    zip_code: str | None = None


class Formed(sk.Item, table="formed-values"):
    id: str
    name: str
    at: datetime | None = None
    since: datetime = DAY
    whole: Annotated[datetime, sk.seconds] | None = None
    expires: Annotated[datetime, sk.epoch] | None = None
    seen: Annotated[datetime, sk.stored_as(datetime, also=[sk.epoch, sk.seconds])] | None = None
    user: UUID | None = None
    ratio: Annotated[float, sk.inexact] = 0.1
    count: int = 1
    limit: int | None = 2
    low: int | None = None
    spot: Spot | None = None
    address: Address | None = None
    home: Address = msgspec.field(default_factory=lambda: Address("Via Appia"))
    moments: list[datetime] = msgspec.field(default_factory=list)
    either: datetime | int | None = None
    users: set[UUID] = msgspec.field(default_factory=set)
    marks: set[str] = msgspec.field(default_factory=lambda: {"new"})
    counts: dict[str, int] = msgspec.field(default_factory=dict)

    key = sk.Key("FORMED#{id}")


PATH = Formed.key(id="1")
times = st.integers(0, 4).map(lambda half: DAY + timedelta(seconds=half / 2))
whole_times = st.integers(0, 2).map(lambda second: DAY + timedelta(seconds=second))
users = st.integers(0xA, 0xC).map(lambda number: UUID(int=number * 0x1111))
ratios = st.sampled_from([0.0, 0.1, 0.2, 0.30000000000000004, 0.3])
small = st.integers(0, 3)
names = st.sampled_from(["", "ann", "anna", "bob"])


def own(time: datetime) -> dict[str, Any]:
    return {"S": time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")}


def whole(time: datetime) -> dict[str, Any]:
    return {"S": time.strftime("%Y-%m-%dT%H:%M:%SZ")}


def seconds(time: datetime) -> dict[str, Any]:
    return {"N": str(int(time.timestamp()))}


def number(value: float) -> dict[str, Any]:
    return {"N": repr(value)}


def text(value: Any) -> dict[str, Any]:
    return {"S": str(value)}


any_time = times.map(own) | whole_times.map(whole) | whole_times.map(seconds)
any_user = users.map(text) | users.map(lambda user: {"S": str(user).upper()})
other = st.sampled_from([NULL, {"BOOL": True}, {"S": "x"}, {"N": "1.5"}, {"L": []}, {"M": {}}])
addresses = st.fixed_dictionaries(
    {},
    optional={
        "street": names.map(text),
        "city": st.sampled_from(["Rome", "Oslo"]).map(text),
        "zip_code": names.map(text) | st.just(NULL),
        "colour": st.just({"S": "red"}),
    },
).map(lambda content: {"M": content})
STORED: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "name": names.map(text),
    "at": any_time,
    "since": any_time,
    "whole": any_time,
    "expires": any_time,
    "seen": any_time,
    "user": any_user,
    "ratio": ratios.map(number) | st.just({"N": "0.1000000000000000055511"}),
    "count": small.map(number),
    "limit": small.map(number),
    "low": small.map(number),
    "spot": st.fixed_dictionaries({"x": small.map(number), "y": small.map(number)}).map(lambda spot: {"M": spot}),
    "address": addresses,
    "home": addresses,
    "moments": st.lists(any_time, max_size=2).map(lambda content: {"L": content}),
    "either": any_time | small.map(number),
    "users": st.sets(users.map(str) | users.map(lambda user: str(user).upper()), min_size=1, max_size=2).map(
        lambda content: {"SS": sorted(content)}
    ),
    "marks": st.sets(names.filter(bool), min_size=1, max_size=2).map(lambda content: {"SS": sorted(content)}),
    "counts": st.dictionaries(st.sampled_from("ab"), small.map(number)).map(lambda content: {"M": content}),
}


@st.composite
def rows(draw: st.DrawFn) -> dict[str, Any]:
    """A row with a few attributes, so that many of them can be read."""
    fields = draw(st.lists(st.sampled_from(sorted(STORED)), max_size=4, unique=True))
    return {"name": {"S": "ann"}} | {name: draw(STORED[name] if draw(st.booleans()) else other) for name in fields}


WANTED: dict[str, st.SearchStrategy[Any]] = {
    "name": names,
    "at": times,
    "since": times,
    "whole": whole_times,
    "expires": whole_times,
    "seen": times,
    "user": users,
    "ratio": ratios,
    "count": small,
    "limit": small,
    "spot": st.builds(Spot, small, small),
    "address.street": names,
    "address.city": st.sampled_from(["Rome", "Oslo"]),
    "address.zip_code": names,
    "home.city": st.sampled_from(["Rome", "Oslo"]),
    "home.zip_code": names,
    "moments": st.lists(times, max_size=2),
    "moments[0]": times,
    "either": times | small,
    "users": st.sets(users, min_size=1, max_size=2),
    "marks": st.sets(names.filter(bool), min_size=1, max_size=2),
    "counts": st.dictionaries(st.sampled_from("ab"), small),
    "counts.a": small,
}
UNORDERED = {"seen", "spot", "moments", "users", "marks", "counts"}
SIZED = {"name", "moments", "users", "marks", "counts", "home.city", "address.zip_code"}
ORDERS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Case(NamedTuple):
    """A condition, and what it means for an item."""

    where: Any
    holds: Callable[[Formed], bool]

    def __repr__(self) -> str:
        return repr(self.where)


def shown(item: Formed, place: str) -> Any:
    """The value at a place of an item; None for absent ones, and for empty sets."""
    match place.replace("[", ".").replace("]", "").split("."):
        case [field]:
            value = getattr(item, field)
        case ["moments", index]:
            value = item.moments[int(index)] if int(index) < len(item.moments) else None
        case ["counts", name]:
            value = item.counts.get(name)
        case [field, inner]:
            value = None if getattr(item, field) is None else getattr(getattr(item, field), inner)
    return None if value == set() else value


def ordered(compare: Callable[[Any, Any], Any], value: Any, limit: Any) -> bool:
    return type(value) is type(limit) and bool(compare(value, limit))


@st.composite
def single(draw: st.DrawFn) -> Case:
    place = draw(st.sampled_from(sorted(WANTED)))
    field, value = field_of(Formed, place), draw(WANTED[place])
    kinds = ["=", "<>", "in", "exists", "not_exists"]
    kinds += [] if place in UNORDERED else [*ORDERS, "between"]
    kinds += ["size"] if place in SIZED else []
    kinds += ["contains"] if place in ("name", "moments", "users", "marks") else []
    kinds += ["begins_with"] if place in ("name", "address.street") else []
    kind = draw(st.sampled_from(kinds))
    match kind:
        case "=":
            return Case({place: value}, lambda item: bool(shown(item, place) == value))
        case "<>":
            return Case(field != value, lambda item: bool(shown(item, place) != value))
        case "in":
            another = draw(WANTED[place])
            return Case(field.is_in(value, another), lambda item: shown(item, place) in (value, another))
        case "exists":
            return Case(field.exists(), lambda item: shown(item, place) is not None)
        case "not_exists":
            return Case(field.not_exists(), lambda item: shown(item, place) is None)
        case "between":
            low, high = sorted((value, draw(WANTED[place].filter(lambda other: type(other) is type(value)))))
            return Case(
                field.between(low, high),
                lambda item: type(shown(item, place)) is type(low) and bool(low <= shown(item, place) <= high),
            )
        case "size":
            most = draw(st.integers(0, 2))
            return Case(field.size <= most, lambda item: len(shown(item, place) or ()) <= most)
        case "contains":
            element = next(iter(value), "a") if place != "moments" else draw(times)
            return Case(field.contains(element), lambda item: element in (shown(item, place) or ()))
        case "begins_with":
            return Case(field.begins_with("an"), lambda item: (shown(item, place) or "").startswith("an"))
    compare = ORDERS[kind]
    return Case(compare(field, value), lambda item: ordered(compare, shown(item, place), value))


@st.composite
def of_fields(draw: st.DrawFn) -> Case:
    """A comparison of two fields: false if one is absent, unless they are to differ."""
    one, two = draw(st.permutations(["count", "limit", "low"]))[:2]
    kind = draw(st.sampled_from(["=", "<>", *ORDERS]))
    compare = {"=": operator.eq, "<>": operator.ne, **ORDERS}[kind]

    def holds(item: Formed) -> bool:
        values = getattr(item, one), getattr(item, two)
        return kind == "<>" if None in values else bool(compare(*values))

    return Case(compare(field_of(Formed, one), field_of(Formed, two)), holds)


def negated(case: Case) -> Case:
    where = case.where
    if isinstance(where, dict):
        where = reduce(operator.and_, (field_of(Formed, name) == value for name, value in where.items()))
    return Case(~where, lambda item: not case.holds(item))


def joined(one: Case, other: Case, every: bool) -> Case:
    left, right = negated(negated(one)).where, other.where
    if every:
        return Case(left & right, lambda item: one.holds(item) and other.holds(item))
    return Case(left | right, lambda item: one.holds(item) or other.holds(item))


CASES = st.recursive(
    single() | of_fields(),
    lambda inner: inner.map(negated) | st.builds(joined, inner, inner, st.booleans()),
    max_leaves=3,
)


@given(rows(), CASES)
def test_a_condition_matches_what_get_shows(row: dict[str, Any], case: Case) -> None:
    with sk.connect("memory:") as db:
        db.create_tables(Formed)
        db.client.put_item(TableName="formed-values", Item={"pk": {"S": "FORMED#1"}, "id": {"S": "1"}, **row})
        try:
            item = db.get(PATH)
        except sk.DecodeError:
            assert db.audit(Formed).fine == 0
            return
        assert item is not None
        assert db.audit(Formed).is_clean
        expected = case.holds(item)
        assert db.count(PATH, where=case.where) == expected
        assert len(list(db.scan(Formed, where=case.where))) == expected
        check = sk.Transaction()
        check.check(PATH, where=case.where)
        for write in (
            lambda: db.transact(check),
            lambda: db.put(item, where=case.where),
            lambda: db.update(PATH, {"name": "x"}, where=case.where),
        ):
            try:
                write()
                assert expected
            except (sk.ConditionFailed, sk.TransactionFailed):
                assert not expected
            db.client.put_item(TableName="formed-values", Item={"pk": {"S": "FORMED#1"}, "id": {"S": "1"}, **row})
        try:
            assert db.delete(PATH, where=case.where) == item
            assert expected
        except sk.ConditionFailed:
            assert not expected

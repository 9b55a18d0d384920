"""Any old rows, and any sequence of writes: what sessions return agrees with a plain model of the declarations, and no
attribute that nobody named is lost."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import reduce
from operator import and_, or_
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sortkey as sk
from sortkey.model.changes.operators import Append, FieldChange
from tests.model.sessions.plain_items import (
    NULL,
    SHELF,
    Change,
    FieldTest,
    OldRow,
    OneVersion,
    Stored,
    Thing,
    TwoVersions,
    Wanted,
    all_tests,
    f,
    index_keys,
    is_absent,
)

NUMBERS = st.integers(1, 3)
NAMES = st.sampled_from(["ann", "bob"])
STATUSES = st.sampled_from(["active", "closed"])
SMALL = st.integers(-1, 2)
AMOUNTS = st.sampled_from([0, 99, 100, 101])
WORDS = st.sampled_from(["a", "new", "hello"])
SETS = st.sets(WORDS, min_size=1, max_size=2)
LISTS = st.lists(WORDS, max_size=2)


def text(value: str) -> dict[str, Any]:
    return {"S": value}


def number(value: int) -> dict[str, Any]:
    return {"N": str(value)}


def strings(values: set[str]) -> dict[str, Any]:
    return {"SS": sorted(values)}


def texts(values: list[str]) -> dict[str, Any]:
    return {"L": [text(value) for value in values]}


ATTRIBUTES = st.fixed_dictionaries(
    {},
    optional={
        "status": STATUSES.map(text),
        "credit": AMOUNTS.map(number),
        "limit": SMALL.map(number) | st.just(NULL),
        "alias": WORDS.map(text) | st.just(NULL),
        "tags": SETS.map(strings) | st.just(NULL),
        "marks": SETS.map(strings) | st.just(NULL),
        "notes": LISTS.map(texts),
        "revision": SMALL.filter(lambda value: value >= 0).map(number),
        "shelf": st.sampled_from([SHELF, "other"]).map(text),
        "number": NUMBERS.map(number),
    },
)
EXTRA = st.fixed_dictionaries(
    {}, optional={"x": st.sampled_from([NULL, {"S": "x"}, {"L": [NULL, {"N": "1"}]}]), "y": st.just({"B": b"\xff"})}
)
KEY_PARTS = st.frozensets(
    st.sampled_from(["gsi4pk", *(f"gsi{index}{half}" for index in (1, 2, 3) for half in ("pk", "sk"))])
)
OLD_ROWS = st.lists(
    st.builds(OldRow, NUMBERS, ATTRIBUTES, EXTRA, KEY_PARTS, NAMES, st.booleans()),
    max_size=3,
    unique_by=lambda row: row.number,
)


def comparison(field: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[FieldTest]:
    """Conditions on a field that has an order."""
    kinds: list[tuple[Callable[[Any], Any], Callable[[Any, Any], bool]]] = [
        (lambda value: f(field) == value, lambda shown, value: bool(shown == value)),
        (lambda value: f(field) != value, lambda shown, value: bool(shown != value)),
        (lambda value: f(field) < value, lambda shown, value: shown is not None and shown < value),
        (lambda value: f(field) <= value, lambda shown, value: shown is not None and shown <= value),
        (lambda value: f(field) > value, lambda shown, value: shown is not None and shown > value),
        (lambda value: f(field) >= value, lambda shown, value: shown is not None and shown >= value),
        (lambda value: f(field).is_in(value, value), lambda shown, value: bool(shown == value)),
    ]
    return st.builds(
        lambda kind, value: FieldTest(field, kind[0](value), lambda shown: kind[1](shown, value)),
        st.sampled_from(kinds),
        values,
    )


def existence(field: str) -> st.SearchStrategy[FieldTest]:
    return st.sampled_from(
        [
            FieldTest(field, f(field) == None, is_absent),  # noqa: E711
            FieldTest(field, f(field).not_exists(), is_absent),
            FieldTest(field, f(field).exists(), lambda shown: not is_absent(shown)),
        ]
    )


def size(field: str) -> st.SearchStrategy[FieldTest]:
    return st.integers(0, 2).map(
        lambda most: FieldTest(field, f(field).size <= most, lambda shown: len(shown or ()) <= most)
    )


TESTS = st.one_of(
    comparison("number", NUMBERS),
    comparison("shelf", st.sampled_from([SHELF, "other"])),
    comparison("status", STATUSES),
    comparison("credit", AMOUNTS),
    comparison("limit", SMALL),
    comparison("alias", WORDS),
    existence("limit"),
    existence("alias"),
    existence("status"),
    existence("tags"),
    existence("marks"),
    size("marks"),
    size("notes"),
    st.builds(lambda word: FieldTest("marks", f("marks").contains(word), lambda shown: word in (shown or ())), WORDS),
    st.builds(lambda word: FieldTest("notes", f("notes").contains(word), lambda shown: word in (shown or ())), WORDS),
    st.builds(
        lambda start: FieldTest("alias", f("alias").begins_with(start), lambda shown: (shown or "").startswith(start)),
        st.sampled_from(["n", "none", "a"]),
    ),
    st.builds(
        lambda part: FieldTest("status", f("status").contains(part), lambda shown: part in (shown or "")),
        st.sampled_from(["ive", "clos"]),
    ),
    st.builds(lambda value: FieldTest("marks", f("marks") == value, lambda shown: bool(shown == value)), SETS),
    st.builds(lambda value: FieldTest("notes", f("notes") == value, lambda shown: bool(shown == value)), LISTS),
)


def joined(test: FieldTest, other: FieldTest, every: bool) -> FieldTest:
    """Two conditions on one field."""
    if every:
        condition = test.condition & other.condition
        return FieldTest(test.field, condition, lambda shown: test.holds(shown) and other.holds(shown))
    condition = test.condition | other.condition
    return FieldTest(test.field, condition, lambda shown: test.holds(shown) or other.holds(shown))


def negated(test: FieldTest) -> FieldTest:
    return FieldTest(test.field, ~test.condition, lambda shown: not test.holds(shown))


AMOUNT_BOUNDS = comparison("credit", AMOUNTS)
LIMIT_BOUNDS = comparison("limit", SMALL)
BOUNDS = st.one_of(
    st.builds(joined, AMOUNT_BOUNDS, AMOUNT_BOUNDS, st.booleans()),
    st.builds(joined, LIMIT_BOUNDS, LIMIT_BOUNDS, st.booleans()),
)
MAPPINGS = st.lists(
    TESTS | BOUNDS | BOUNDS.map(negated) | LIMIT_BOUNDS.map(negated), max_size=2, unique_by=lambda test: test.field
).map(all_tests)


def combined(name: str, parts: list[Wanted]) -> Wanted:
    combine = {
        "any_of": lambda shown: any(part.matches(shown) for part in parts),
        "all_of": lambda shown: all(part.matches(shown) for part in parts),
        "none_of": lambda shown: not any(part.matches(shown) for part in parts),
    }
    where = reduce(or_ if name != "all_of" else and_, (part.where for part in parts))
    return Wanted(~where if name == "none_of" else where, combine[name])


def between_fields(field: str, other: str, kind: str, negated: bool) -> Wanted:
    """A comparison of two fields: false if one is absent, unless they are to differ."""
    compare = {"=": operator.eq, "<>": operator.ne, "<": operator.lt, ">=": operator.ge}[kind]

    def matches(shown: Mapping[str, Any] | None) -> bool:
        values = (None, None) if shown is None else (shown[field], shown[other])
        result = kind == "<>" if None in values else bool(compare(*values))
        return result != negated

    test: Any = compare(f(field), f(other))
    return Wanted(~test if negated else test, matches)


KINDS = st.sampled_from(["=", "<>", "<", ">="])
BETWEEN_FIELDS = st.builds(
    between_fields, st.just("credit"), st.sampled_from(["limit", "revision"]), KINDS, st.booleans()
) | st.builds(between_fields, st.just("limit"), st.sampled_from(["credit", "revision"]), KINDS, st.booleans())

WHERE = st.recursive(
    MAPPINGS | BETWEEN_FIELDS,
    lambda inner: st.builds(
        combined,
        st.sampled_from(["any_of", "all_of", "none_of"]),
        st.lists(inner.filter(lambda wanted: wanted.where != {}), min_size=1, max_size=2),
    ),
    max_leaves=4,
)


def assigned(field: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Change]:
    return values.map(lambda value: Change(field, f(field).set(value), lambda _: value))


def initially(field: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Change]:
    return values.map(
        lambda value: Change(field, f(field).if_not_exists(value), lambda shown: value if is_absent(shown) else shown)
    )


def added(field: str) -> st.SearchStrategy[Change]:
    return SMALL.map(lambda amount: Change(field, f(field).add(amount), lambda shown: (shown or 0) + amount))


def set_changes(field: str) -> st.SearchStrategy[Change]:
    return (
        SETS.map(lambda more: Change(field, f(field).add(more), lambda shown: shown | more))
        | SETS.map(lambda less: Change(field, f(field).delete(less), lambda shown: shown - less))
        | assigned(field, st.sets(WORDS, max_size=2))
    )


CHANGES = st.lists(
    st.one_of(
        assigned("owner", NAMES),
        assigned("status", STATUSES) | initially("status", STATUSES),
        assigned("credit", AMOUNTS) | added("credit"),
        assigned("limit", SMALL | st.none()) | added("limit") | initially("limit", SMALL),
        assigned("alias", WORDS | st.none()) | initially("alias", WORDS),
        set_changes("tags"),
        set_changes("marks"),
        assigned("notes", LISTS)
        | LISTS.map(lambda more: Change("notes", FieldChange("notes", Append(more)), lambda shown: [*shown, *more])),
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda change: change.field,
)

FOREIGN = [
    {"pk": {"S": f"SHELF#{SHELF}"}, "sk": {"S": f"THING#{form}"}, "owner": {"S": "ann"}, "x": {"S": form}}
    for form in ("03", "three", "1#2")
]
"""Rows whose keys are not in the form of the class."""


PUT_OPTIONS: dict[str, dict[str, Any]] = {
    "": {},
    "if_absent": {"if_absent": True},
    "newer_by": {"newer_by": "credit"},
    "if_version": {"if_version": "revision"},
}


class World:
    """A store and the plain model of it, which are compared after each step."""

    def __init__(self, db: sk.Session, cls: type[Any], rows: list[OldRow]) -> None:
        self.db = db
        self.cls = cls
        self.table = cls.__table__.name
        for row in rows:
            db.client.put_item(TableName=self.table, Item=row.row(cls))
        for foreign in FOREIGN:
            db.client.put_item(TableName=self.table, Item=foreign)
        self.items: dict[int, Stored] = {row.number: row.stored(cls) for row in rows}

    def path(self, which: int) -> sk.AccessPath[Any]:
        path: sk.AccessPath[Any] = self.cls.key(shelf=SHELF, number=which)
        return path

    def item(self, stored: Stored) -> Thing:
        made: Thing = self.cls(**stored.shown)
        return made

    def update(self, which: int, changes: list[Change], where: Wanted) -> None:
        stored = self.items.get(which)
        wanted = [change.change for change in changes]
        if stored is None or not where.matches(stored.shown):
            with pytest.raises(sk.ItemMissing if stored is None else sk.ConditionFailed):
                self.db.update(self.path(which), wanted, where=where.where)
            return
        for change in changes:
            stored.shown[change.field] = change.result(stored.shown[change.field])
        stored.touch({change.field for change in changes})
        assert self.db.update(self.path(which), wanted, where=where.where) == self.item(stored)

    def delete(self, which: int, where: Wanted) -> None:
        stored = self.items.get(which)
        if stored is None and where.where == {}:
            assert self.db.delete(self.path(which), where=where.where) is None
        elif stored is None or not where.matches(stored.shown):
            with pytest.raises(sk.ItemMissing if stored is None else sk.ConditionFailed):
                self.db.delete(self.path(which), where=where.where)
        else:
            assert self.db.delete(self.path(which), where=where.where) == self.item(stored)
            del self.items[which]

    def put(self, which: int, credit: int, condition: str) -> None:
        """Puts a changed copy of the item that a reader has, or a new item."""
        read = self.db.get(self.path(which))
        item = self.cls(shelf=SHELF, number=which, owner="ann") if read is None else read
        stored = self.items.get(which)
        item = sk.replace(item, credit=credit)
        allowed = {
            "": True,
            "if_absent": stored is None,
            "newer_by": stored is None or stored.shown["credit"] < credit,
            "if_version": True,
        }[condition]
        assert self.db.put(item, **PUT_OPTIONS[condition]) == allowed
        if not allowed:
            return
        if stored is None:
            stored = self.items[which] = Stored(shown_of(item), {}, {})
        stored.shown |= {"credit": credit, "revision": item.revision}
        stored.keys, stored.outdated = dict(index_keys(stored.shown)), False

    def check(self, where: Wanted) -> None:
        rows = self.db.client.scan(TableName=self.table)["Items"]
        for foreign in FOREIGN:
            assert foreign in rows
        for which in range(1, 4):
            stored = self.items.get(which)
            found = self.db.get(self.path(which))
            assert found == (None if stored is None else self.item(stored))
            if stored is not None and found is not None:
                assert sk.extra(found) == stored.extra
        self._check_paths(where)

    def _check_paths(self, where: Wanted) -> None:
        self._check_path(self.cls.key(shelf=SHELF), where, lambda _: True)
        for owner in ("ann", "bob"):
            self._check_path(self.cls.by_owner(owner=owner), where, in_index("gsi1", f"OWNER#{owner}"))
        path = self.cls.by_limit(limit=1)
        self._check_path(path, where, in_index("gsi2", path.equal["gsi2pk"]["S"]))
        if "credit" not in str(where):
            # A filter cannot use an attribute of the key.
            for status in ("active", "closed"):
                path = self.cls.by_credit(status=status)
                self._check_path(path, where, in_index("gsi4", f"STATUS#{status}"))
        parts = list(self.db.iterate(self.cls.parts(shelf=SHELF)))
        expected = [each for each in self.items.values() if each.keys.get("gsi3") is not None]
        assert all(map(sk.is_partial, parts))
        assert {each.number: each.status for each in parts} == {
            each.shown["number"]: each.shown["status"] for each in expected
        }
        assert self._numbers(self.db.whole(parts)) == sorted(each.shown["number"] for each in expected)
        for each in self.db.whole(parts):
            assert each == self.item(self.items[each.number])

    def _check_path(self, path: sk.AccessPath[Any], where: Wanted, belongs: Callable[[Stored], bool]) -> None:
        expected = sorted(which for which, each in self.items.items() if belongs(each) and where.matches(each.shown))
        assert self._numbers(self.db.iterate(path, where=where.where)) == expected
        assert self._numbers(self.db.page(path, where=where.where).items) == expected
        assert self.db.count(path, where=where.where) == len(expected)

    def _numbers(self, items: Any) -> list[int]:
        return sorted(each.number for each in items)


def shown_of(item: Any) -> dict[str, Any]:
    return {name: getattr(item, name) for name in type(item).__struct_fields__}


def in_index(index: str, partition: str) -> Callable[[Stored], bool]:
    return lambda stored: (stored.keys.get(index) or ("", ""))[0] == partition


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("update"), NUMBERS, CHANGES, WHERE),
        st.tuples(st.just("delete"), NUMBERS, WHERE),
        st.tuples(st.just("put"), NUMBERS, AMOUNTS, st.sampled_from(sorted(PUT_OPTIONS))),
    ),
    max_size=5,
)


@pytest.mark.parametrize("cls", [OneVersion, TwoVersions])
@given(rows=OLD_ROWS, steps=STEPS, where=WHERE)
def test_sessions_agree_with_the_plain_model(
    cls: type[Any], rows: list[OldRow], steps: list[tuple[Any, ...]], where: Wanted
) -> None:
    with sk.connect("memory:", tables=[cls]) as db:
        db.create_tables()
        world = World(db, cls, rows)
        world.check(where)
        for name, *arguments in steps:
            getattr(world, name)(*arguments)
            world.check(where)

"""A plain model of what the declarations of two classes mean, for rows of any age: what items show, what conditions and
changes see, and which index a row is in. It knows nothing of requests and expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import and_
from typing import Any, NamedTuple

import sortkey as sk
from sortkey.model.changes.typed_field import field_of

Row = dict[str, dict[str, Any]]
NULL = {"NULL": True}


class Thing(sk.Item):
    shelf: str
    number: int
    owner: str
    status: str = "active"
    credit: int = 100
    limit: int | None = None
    alias: str | None = "none yet"
    tags: set[str] = sk.field(default_factory=set)
    marks: set[str] = sk.field(default_factory=lambda: {"new"})
    notes: list[str] = sk.field(default_factory=lambda: ["hello"])
    revision: int = 0

    key = sk.Key("SHELF#{shelf}", "THING#{number:d}")
    by_owner = sk.Index("gsi1", "OWNER#{owner}", "{status}#{number:d}")
    by_limit = sk.Index("gsi2", "LIMIT#{limit}", "{number:d}")
    by_credit = sk.Index("gsi4", "STATUS#{status}", "{credit}", names=("gsi4pk", "credit"))
    parts = sk.Index("gsi3", "PARTS#{shelf}", "{status}#{number:d}", projection=["credit"])


class OneVersion(Thing, table=sk.Table("plain-one-version")):
    pass


class TwoVersions(Thing, table=sk.Table("plain-two-versions"), version=2):
    """The owner was the user in version 1."""


@TwoVersions.upgrade(1)
def user_is_owner(old: dict[str, Any]) -> dict[str, Any]:
    return {**{name: value for name, value in old.items() if name != "user"}, "owner": old["user"]}


SHELF = "s"
DEFAULTS: dict[str, Callable[[], Any]] = {
    "status": lambda: "active",
    "credit": lambda: 100,
    "limit": lambda: None,
    "alias": lambda: "none yet",
    "tags": set,
    "marks": lambda: {"new"},
    "notes": lambda: ["hello"],
    "revision": lambda: 0,
}
INDEX_FIELDS = {
    "gsi1": {"owner", "status", "number"},
    "gsi2": {"limit", "number"},
    "gsi3": {"shelf", "status", "number"},
    "gsi4": {"status", "credit"},
}


def value_of(attribute: dict[str, Any]) -> Any:
    """The value of an attribute of these classes."""
    ((tag, content),) = attribute.items()
    match tag:
        case "N":
            return int(content)
        case "SS":
            return set(content)
        case "L":
            return [each["S"] for each in content]
    return None if tag == "NULL" else content


def index_keys(shown: Mapping[str, Any]) -> dict[str, tuple[str, str] | None]:
    """The whole key in each index; None for an item that is not in it."""
    number, limit = shown["number"], shown["limit"]
    return {
        "gsi1": (f"OWNER#{shown['owner']}", f"{shown['status']}#{number}"),
        # A field that is the whole key, or starts it, is a text here.
        "gsi2": None if limit is None else (f"LIMIT#{limit_text(limit)}", f"{number}"),
        "gsi3": (f"PARTS#{shown['shelf']}", f"{shown['status']}#{number}"),
        # Its sort key is the attribute of the field.
        "gsi4": (f"STATUS#{shown['status']}", f"{shown['credit']}"),
    }


def key_names(index: str) -> tuple[str, str]:
    return f"{index}pk", "credit" if index == "gsi4" else f"{index}sk"


def limit_text(limit: int) -> str:
    path = OneVersion.by_limit(limit=limit)
    text: str = path.equal["gsi2pk"]["S"]
    return text.removeprefix("LIMIT#")


@dataclass
class Stored:
    """An item: what it shows, what nobody declared, and the indexes that it is in."""

    shown: dict[str, Any]
    extra: Row
    keys: dict[str, tuple[str, str] | None]
    outdated: bool = False

    def touch(self, fields: set[str]) -> None:
        """A change of some fields: it writes the keys that contain them; all keys of an upgraded row."""
        for index, key in index_keys(self.shown).items():
            if self.outdated or fields & INDEX_FIELDS[index]:
                self.keys[index] = key
        self.outdated = False


@dataclass
class OldRow:
    """A row as another program wrote it."""

    number: int
    attributes: Row
    """Of the fields that it has; those of its primary key may disagree with the key."""
    extra: Row
    key_parts: frozenset[str]
    """The index key attributes that it has."""
    owner: str = "ann"
    old_version: bool = False
    shown: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.shown = {name: default() for name, default in DEFAULTS.items()}
        for name, attribute in self.attributes.items():
            value = value_of(attribute)
            self.shown[name] = set() if value is None and name in ("tags", "marks") else value
        self.shown |= {"shelf": SHELF, "number": self.number, "owner": self.owner}

    def row(self, cls: type[Thing]) -> Row:
        row: Row = {"pk": {"S": f"SHELF#{SHELF}"}, "sk": {"S": f"THING#{self.number}"}}
        old = cls is TwoVersions and self.old_version
        if old:
            row["user"] = {"S": self.owner}
        else:
            row["owner"] = {"S": self.owner}
        if cls is TwoVersions and not old:
            row["_v"] = {"N": "2"}
        for index, key in index_keys(self.shown).items():
            for name, text in zip(key_names(index), key or (), strict=False):
                if name in self.key_parts:
                    row[name] = {"S": text}
        return row | self.attributes | self.extra

    def stored(self, cls: type[Thing]) -> Stored:
        row = self.row(cls)
        keys = {
            index: key if row.keys() >= set(key_names(index)) else None for index, key in index_keys(self.shown).items()
        }
        return Stored(dict(self.shown), dict(self.extra), keys, "user" in row)


class FieldTest(NamedTuple):
    """A condition on a field, and what it means for a value that an item shows."""

    field: str
    condition: Any
    holds: Callable[[Any], bool]

    def __repr__(self) -> str:
        return repr(self.condition)


def f(name: str) -> sk.F[Any]:
    """A field of either class."""
    return field_of(object, name)


class Wanted(NamedTuple):
    """A `where`, and what it means for what an item shows; None is a missing item, whose fields are absent."""

    where: Any
    matches: Callable[[Mapping[str, Any] | None], bool]

    def __repr__(self) -> str:
        return repr(self.where)


def all_tests(tests: list[FieldTest]) -> Wanted:
    return Wanted(
        reduce(and_, (test.condition for test in tests)) if tests else {},
        lambda shown: all(test.holds(None if shown is None else shown[test.field]) for test in tests),
    )


def is_absent(value: Any) -> bool:
    return value is None or value == set()


class Change(NamedTuple):
    """A change, and what it makes of the value that an item shows."""

    field: str
    change: Any
    result: Callable[[Any], Any]

    def __repr__(self) -> str:
        return repr(self.change)

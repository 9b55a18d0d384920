"""A row of the source as the target has it: all of it, or a part of the rows, with fields that nobody recognises."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import msgspec
import orjson

from sortkey.client.boto3_shapes import to_dynamodb_json
from sortkey.copies.errors import CopyRefused
from sortkey.copies.table_shape import TableShape
from sortkey.errors import DynamoDBError
from sortkey.expressions import Condition
from sortkey.expressions.partiql_keys import compiled_where
from sortkey.expressions.partiql_parser import parse_statement
from sortkey.expressions.partiql_tree import Select
from sortkey.values.attribute import normalise_item
from sortkey.values.size import write_units

Row = dict[str, Any]
"""In boto3's shape."""

_DIGITS: Final = 10**15
_SORTED: Final = msgspec.json.Encoder(order="sorted")
"""Fingerprints are kept by the million. Bytes that orjson made would keep its buffer, 4 KB each."""


class Selection(NamedTuple):
    """What of a store is copied, and how."""

    where: str | None = None
    anonymised: tuple[str, ...] = ()
    run_key: bytes = b""
    """Decides the pseudonyms."""

    @property
    def is_whole(self) -> bool:
        return self.where is None and not self.anonymised

    @property
    def fingerprint(self) -> str:
        """Tells selections apart, and nothing of the key."""
        content = orjson.dumps([self.where, self.anonymised, blake2b(self.run_key).hexdigest()])
        return blake2b(content, digest_size=16).hexdigest()


class RowForm:
    def __init__(self, shape: TableShape, selection: Selection) -> None:
        self.key = shape.key
        self._condition = None if selection.where is None else parse_where(selection.where)
        self._anonymised = selection.anonymised
        self._pseudonym = Pseudonyms(selection.run_key)
        self._ttl = shape.ttl_attribute
        self._index_keys = tuple(shape.index_keys.values())
        for name in selection.anonymised:
            if name in shape.key:
                raise CopyRefused(
                    f"{name} is in the key of table {shape.name}, so it cannot be anonymised: rows are found by it. "
                    "Leave the table out with --tables, or copy it without its rows by --where"
                )
            if name == shape.ttl_attribute:
                raise CopyRefused(f"{name} says when rows of table {shape.name} expire, so it cannot be anonymised")

    def of(self, row: Row) -> Row | None:
        """None for a row that is not copied."""
        if self._condition is not None and not self._condition(normalise_item(to_dynamodb_json(row)).item):
            return None
        if self._anonymised:
            row = {name: self._pseudonym(value) if name in self._anonymised else value for name, value in row.items()}
        return row

    def key_of(self, row: Row) -> Row:
        return {name: row[name] for name in self.key}

    def has_expired(self, row: Row, now: float) -> bool:
        """Whether its TTL is over: each store deletes such rows when it likes."""
        value = row.get(self._ttl, {}).get("N") if self._ttl is not None else None
        return value is not None and float(value) < now

    def units(self, row: Row) -> float:
        """The write units that a put of a new row takes, its index rows included."""
        rows = 1 + sum(all(name in row for name in names) for names in self._index_keys)
        return rows * write_units(normalise_item(to_dynamodb_json(row)).size)


def fingerprint(row: Row) -> bytes:
    """Equal for rows that are equal, whatever store they are from: numbers have one form, sets one order."""
    return _SORTED.encode(normalise_item(to_dynamodb_json(row)).item)


def parse_where(text: str) -> Condition:
    """A PartiQL condition, without the word WHERE."""
    try:
        statement = parse_statement(f'SELECT * FROM "rows" WHERE {text}')
        if not isinstance(statement.body, Select) or statement.where is None or statement.body.order:
            raise CopyRefused(f"--where {text!r} must be a condition alone")
        return compiled_where(statement).bind(statement.bind([]))
    except DynamoDBError as error:
        raise CopyRefused(f"--where {text!r} is no condition: {error.message}") from None


class Pseudonyms:
    """One value has one pseudonym in all tables, so rows that belong together still do. Without the key, nobody can
    compute which. Truth values and nulls stay; lists and maps keep their form."""

    def __init__(self, run_key: bytes) -> None:
        self._run_key = run_key
        self._by_type: Mapping[str, Callable[[Any], Any]] = {
            "S": lambda text: f"anon-{self._digest('S', text)[:12].hex()}",
            "N": lambda text: str(int.from_bytes(self._digest("N", str(Decimal(text).normalize()))) % _DIGITS),
            "B": lambda content: self._digest("B", bytes(content).hex())[:16],
            "L": lambda elements: [self(element) for element in elements],
            "M": lambda members: {name: self(member) for name, member in members.items()},
        }

    def __call__(self, value: Mapping[str, Any]) -> dict[str, Any]:
        ((tag, content),) = value.items()
        if tag in ("SS", "NS", "BS"):
            return {tag: _distinct([self._by_type[tag[0]](each) for each in content])}
        change = self._by_type.get(tag)
        return {tag: content if change is None else change(content)}

    def _digest(self, tag: str, text: str) -> bytes:
        return hmac.digest(self._run_key, f"{tag}:{text}".encode(), "sha256")


def _distinct(values: Sequence[Any]) -> list[Any]:
    return list(dict.fromkeys(values))

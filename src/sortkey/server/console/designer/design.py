"""What classes answer: keys, item collections with examples, paths with requests and costs, and the questions that have
no path, each with a key that would give one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Final, Literal, get_args, get_origin
from uuid import UUID

import msgspec

import sortkey as sk
from sortkey.client.boto3_shapes import to_dynamodb_json
from sortkey.model.costs.explain import explain
from sortkey.model.costs.monthly_cost import DAYS
from sortkey.model.errors import ModelError
from sortkey.model.items.access_path import AccessPath
from sortkey.model.items.item import schema_of
from sortkey.model.items.key import BoundKey
from sortkey.model.items.schema import Schema
from sortkey.server.console.data.declared import DeclaredField, DeclaredPath, described, type_text
from sortkey.server.console.designer.source import Problem, read_source
from sortkey.server.console.routes import Body, Item, Message

EXAMPLES: Final = 3
"""Items of each class."""
_MILLION: Final = 1_000_000
_MONTH_SECONDS: Final = DAYS * 24 * 3600
_START: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)


class DesignRequest(Body):
    source: str
    rows: int = 50
    row_bytes: int = 512
    per_second: float = 1.0


class ProblemShown(Message):
    line: int
    message: str


class CollectionRow(Message):
    sort: str
    class_: str = msgspec.field(name="class")
    attributes: Item


class Collection(Message):
    partition: str
    rows: list[CollectionRow]


class DesignedClass(Message):
    name: str
    table: str
    service: None
    doc: str
    fields: list[DeclaredField]
    paths: list[DeclaredPath]
    collections: list[Collection]


class DesignedPath(Message):
    path: str
    request: dict[str, Any]
    operation: str
    units: float
    dollars_per_million: float
    dollars_per_month: float


class Question(Message):
    text: str
    answered: bool
    by: str | None
    suggestion: str | None


class Design(Message):
    problems: list[ProblemShown]
    classes: list[DesignedClass]
    paths: list[DesignedPath]
    questions: list[Question]


def design(wanted: DesignRequest) -> Design:
    source = read_source(wanted.source)
    made = Design([_problem(each) for each in source.problems], [], [], [])
    for cls in source.classes:
        try:
            schema = schema_of(cls)
            made.classes.append(_class(cls, schema))
            made.paths += _paths(schema, wanted)
            made.questions += _questions(schema)
        except (ModelError, ValueError) as error:
            made.problems.append(ProblemShown(1, f"{cls.__name__}: {error}"))
    return made


def _problem(problem: Problem) -> ProblemShown:
    return ProblemShown(problem.line, problem.message)


def _class(cls: type[sk.Item], schema: Schema[Any]) -> DesignedClass:
    annotations = schema.codec.known_annotations
    fields = [
        DeclaredField(name, field.attribute, type_text(annotations[name]), name in schema.codec.required)
        for name, field in schema.codec.by_name.items()
    ]
    paths = [described(schema, layout, annotations) for layout in schema.layouts.values()]
    doc = (vars(cls).get("__doc__") or "").strip().partition("\n")[0]
    return DesignedClass(schema.name, schema.table, None, doc, fields, paths, _collections(schema))


def _collections(schema: Schema[Any]) -> list[Collection]:
    """Example items as rows, by their partition."""
    found: dict[str, Collection] = {}
    for number in range(EXAMPLES):
        row: Item = to_dynamodb_json(schema.encode(_example_item(schema, number)))
        key = to_dynamodb_json(schema.primary.attributes_of(_example_item(schema, number)))
        partition, *parts = [_text(value) for value in key.values()]
        sort = ", ".join(parts)
        rows = found.setdefault(partition, Collection(partition, [])).rows
        # Where the sort key has no field of its own, all examples are one row.
        if all(each.sort != sort for each in rows):
            rows.append(CollectionRow(sort, schema.name, row))
    for collection in found.values():
        collection.rows.sort(key=lambda each: each.sort)
    return list(found.values())


def _example_item(schema: Schema[Any], number: int) -> Any:
    """One of several items of one partition."""
    annotations = schema.codec.known_annotations
    fixed = schema.primary.partition_fields
    values = {
        name: example(name, annotations[name].base, 0 if name in fixed else number)
        for name in schema.codec.by_name
        if name in schema.codec.required or name in schema.held_by_keys
    }
    return schema.owner(**values)


def example(name: str, base: Any, number: int) -> Any:
    """A value of a field."""
    if get_origin(base) is Literal:
        choices = get_args(base)
        return choices[number % len(choices)]
    if isinstance(base, type) and issubclass(base, Enum):
        return list(base)[number % len(base)]
    if base in _EXAMPLES:
        return _EXAMPLES[base](number)
    origin = get_origin(base) or base
    if origin in (list, dict, set, frozenset, tuple):
        return origin()
    return f"{name}-{number + 1}"


_EXAMPLES: Final[Mapping[Any, Any]] = {
    int: lambda number: number + 1,
    Decimal: lambda number: Decimal(number + 1),
    float: lambda number: float(number + 1),
    bool: lambda number: number % 2 == 0,
    bytes: lambda number: bytes([number + 1]),
    datetime: lambda number: _START + timedelta(days=number),
    date: lambda number: date(2026, 1, 1 + number),
    time: lambda number: time(12 + number),
    UUID: lambda number: UUID(int=number + 1),
}


def _paths(schema: Schema[Any], wanted: DesignRequest) -> Iterator[DesignedPath]:
    """Each key by its partition alone, and the primary key whole."""
    item = _example_item(schema, 0)
    for layout in schema.layouts.values():
        key: BoundKey[Any] = BoundKey(schema, layout)
        given = {name: getattr(item, name) for name in layout.partition_fields}
        yield _designed(key(**given), wanted)
        if layout.index is None and layout.sort_fields:
            yield _designed(key.of(item), wanted)


def _designed(path: AccessPath[Any], wanted: DesignRequest) -> DesignedPath:
    found = explain(path, rows=1 if path.is_exact else wanted.rows, row_bytes=wanted.row_bytes)
    million = found.dollars_per_million
    a_month = million / _MILLION * wanted.per_second * _MONTH_SECONDS
    request = to_dynamodb_json(found.request)
    return DesignedPath(repr(path), request, found.operation, found.units, million, a_month)


def _questions(schema: Schema[Any]) -> Iterator[Question]:
    """For each field: which items have a certain value of it?"""
    for name in schema.codec.by_name:
        text = f"Which {schema.name}s have a certain {name}?"
        by = next((key for key in _keys(schema) if set(key.layout.partition_fields) == {name}), None)
        if by is not None:
            yield Question(text, True, f"{by.name}({name}=…)", None)
            continue
        within = _within(schema, name)
        if within is not None:
            yield Question(
                f"{text[:-1]}, with {', '.join(within.layout.partition_fields)} given?", True, within.name, None
            )
        yield Question(text, False, None, _index(schema, name))


def _keys(schema: Schema[Any]) -> Iterable[BoundKey[Any]]:
    return (BoundKey(schema, layout) for layout in schema.layouts.values())


def _within(schema: Schema[Any], name: str) -> BoundKey[Any] | None:
    """A key whose sort key begins with the field."""
    return next((key for key in _keys(schema) if key.layout.sort_fields[:1] == (name,)), None)


def _index(schema: Schema[Any], name: str) -> str:
    """The declaration of an index that would answer it."""
    rest = [each for each in schema.primary.fields if each != name]
    sort = "#".join(f"{{{each}}}" for each in rest)
    sorted_by = f', "{sort}"' if sort else ""
    return f'by_{name} = sk.Index("by_{name}", "{name.upper()}#{{{name}}}"{sorted_by})'


def _text(value: Mapping[str, Any]) -> str:
    ((_, content),) = value.items()
    return str(content)

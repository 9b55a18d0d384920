"""What the services declare: tables, classes, and their access paths, by the names that the page knows them by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from inspect import cleandoc
from typing import Any, Final

import msgspec

from sortkey.feeds.shards.dead_letter import DEAD_LETTERS
from sortkey.feeds.shards.leases import FEEDS
from sortkey.model.fields.annotation import Annotation
from sortkey.model.fields.field_texts import NotAValue, input_of, value_of
from sortkey.model.items.access_path import AccessPath
from sortkey.model.items.key import BoundKey
from sortkey.model.items.schema import Schema
from sortkey.model.items.table import Table
from sortkey.model.keys.key_attribute import ShardedAttribute
from sortkey.model.keys.key_layout import KeyLayout
from sortkey.patterns.generation.pointer import GENERATIONS
from sortkey.patterns.timer_book import TIMERS
from sortkey.server.console.access import Viewer
from sortkey.server.console.routes import Body, Message, Nothing, Route, Routes, invalid, missing
from sortkey.server.kept_requests import KeptRequest

OWN: Final = "sortkey"
"""In the place of a service: the framework's own tables."""
OWN_TABLES: Final[tuple[Table, ...]] = (FEEDS, DEAD_LETTERS, TIMERS, GENERATIONS, KeptRequest.__table__)


class DeclaredField(Message):
    name: str
    attribute: str
    type: str
    required: bool


class PathField(Message):
    name: str
    input: str
    type: str
    choices: list[str] | None = None


class DeclaredPath(Message):
    name: str
    index: str | None
    partition: list[PathField]
    sort: list[PathField]
    partition_template: str
    sort_template: str | None
    ranges: bool
    shards: int | None


class DeclaredClass(Message):
    name: str
    table: str
    service: str | None
    doc: str
    fields: list[DeclaredField]
    paths: list[DeclaredPath]


class Model(Message):
    classes: list[DeclaredClass]


class Range(Body):
    name: str
    values: list[str]


class PathRequest(Body):
    """The members by which every request names an access path."""

    path: str
    fields: dict[str, str]
    range: Range | None = None
    descending: bool = False
    first: int = 50
    after: Any = None
    collection: bool = False


class Declared:
    def __init__(self, services: Mapping[str, Iterable[Table]]) -> None:
        """The tables of each service, by its name."""
        self.tables: dict[str, Table] = {}
        self._services: dict[str, str] = {}
        # The framework's own last: a service that uses them, too, does not own them.
        for service, tables in [*services.items(), (OWN, OWN_TABLES)]:
            for table in tables:
                self.tables[table.name] = table
                self._services[table.name] = service
        self.keys = {f"{key.schema.name}.{key.layout.name}": key for key in self._keys()}
        """The access paths by name. Of two classes with one name, the first has it."""

    def _keys(self) -> Iterator[BoundKey[Any]]:
        keys = [
            BoundKey(schema, layout)
            for table in self.tables.values()
            for schema in table.schemas
            for layout in schema.layouts.values()
        ]
        # The first is to win.
        yield from reversed(keys)

    def service_of(self, table: str) -> str | None:
        return self._services.get(table)

    def routes(self) -> Routes:
        return {"model": Route(Nothing, self.model)}

    async def model(self, viewer: Viewer, _: Nothing) -> Model:
        return Model(
            [
                self._class(table, schema)
                for table in self.tables.values()
                if viewer.sees(table.name)
                for schema in table.schemas
            ]
        )

    def _class(self, table: Table, schema: Schema[Any]) -> DeclaredClass:
        annotations = schema.codec.known_annotations
        fields = [
            DeclaredField(name, field.attribute, type_text(annotations[name]), name in schema.codec.required)
            for name, field in schema.codec.by_name.items()
            if name in annotations
        ]
        paths = [described(schema, layout, annotations) for layout in schema.layouts.values()]
        doc = cleandoc(vars(schema.owner).get("__doc__") or "").partition("\n\n")[0]
        return DeclaredClass(schema.name, table.name, self.service_of(table.name), doc, fields, paths)

    def key(self, viewer: Viewer, name: str) -> BoundKey[Any]:
        """The key or index of a name. Raises ApiError if there is none that the viewer may see."""
        found = self.keys.get(name)
        if found is None or not viewer.sees(found.schema.table):
            raise missing(f"There is no access path {name}.")
        return found

    def path(self, viewer: Viewer, wanted: PathRequest) -> AccessPath[Any]:
        """Raises ApiError for values that are none of their fields, and NoAccessPath."""
        key = self.key(viewer, wanted.path)
        known = key.schema.codec.annotations(set(key.layout.fields))
        try:
            given = {name: value_of(name, text, known) for name, text in wanted.fields.items()}
            path = key(**given)
            if wanted.range is not None:
                path = _ranged(path, wanted.range, known)
        except NotAValue as error:
            raise invalid(str(error)) from None
        return path.of_all_classes() if wanted.collection else path


def _ranged(path: AccessPath[Any], wanted: Range, known: Mapping[str, Annotation]) -> AccessPath[Any]:
    left = [name for name in path.layout.sort_fields if name not in path.given]
    values = [value_of(left[0], text, known) for text in wanted.values] if left else wanted.values
    match wanted.name, values:
        case "between", [low, high]:
            return path.between(low, high)
        case "before", [limit]:
            return path.before(limit)
        case "after", [limit]:
            return path.after(limit)
        case "starting", [beginning]:
            return path.starting(beginning)
    raise invalid(
        f"{wanted.name!r} with {len(values)} values is not a range: between has 2, before, after, starting 1."
    )


def described(schema: Schema[Any], layout: KeyLayout, annotations: Mapping[str, Annotation]) -> DeclaredPath:
    return DeclaredPath(
        f"{schema.name}.{layout.name}",
        layout.index,
        [_field(name, annotations) for name in layout.partition_fields],
        [_field(name, annotations) for name in layout.sort_fields],
        template_text(layout, "partitions"),
        template_text(layout, "sorts") or None,
        bool(layout.sort_fields),
        None if layout.sharding is None else layout.sharding.number,
    )


def _field(name: str, annotations: Mapping[str, Annotation]) -> PathField:
    kind, choices = input_of(annotations[name])
    return PathField(name, kind, type_text(annotations[name]), list(choices) or None)


def template_text(layout: KeyLayout, half: str) -> str:
    """As it is declared: `STORE#{store}`; of several attributes, or a field alone, `{tenant}, {status}`."""
    texts = []
    for part in getattr(layout, half):
        if isinstance(part, ShardedAttribute):
            texts.append(part.declared)
        elif part.template is not None:
            texts.append(part.template.text)
        else:
            texts.append(", ".join(f"{{{field}}}" for field in part.fields))
    return ", ".join(texts)


def type_text(annotation: Annotation) -> str:
    base = annotation.base
    return base.__name__ if isinstance(base, type) else str(base).replace("typing.", "")


class Examples(Message):
    examples: list[dict[str, str]]
    units: float


class ExamplesRequest(Body):
    path: str
    fields: dict[str, str] = msgspec.field(default_factory=dict)

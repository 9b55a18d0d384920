"""`Table`: a table and the classes whose items it holds.

A row's class is known by its primary key, so a class whose keys could equal those of another class in the table is
rejected. The classes of a table must also agree on the key attributes of the table and its indexes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Literal, get_args
from weakref import WeakSet

from sortkey.model.errors import DeclarationError, shown, suggestion
from sortkey.model.fields.codec import Row
from sortkey.model.fields.real_types import RealTypes
from sortkey.model.items.family import Family
from sortkey.model.items.key import reject_name
from sortkey.model.items.schema import Schema, VectorLayout
from sortkey.model.keys.collision import close_ends, keys_may_collide
from sortkey.model.keys.key_attribute import ShardedAttribute
from sortkey.model.keys.key_layout import KeyLayout, Projection, declare_partition

StreamView = Literal["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"]

REPLICATED: Final[StreamView] = "NEW_AND_OLD_IMAGES"
"""What DynamoDB copies from one region to another."""
_REGION: Final = re.compile(r"[a-z]{2,4}(-[a-z]+)+-[0-9]{1,2}")


@dataclass(frozen=True, slots=True)
class TableSettings:
    """A table's settings, besides its keys and indexes."""

    ttl: str | None = None
    """The field with the item's expiry time; stored in seconds since 1970."""
    stream: StreamView | None = None
    """What each record of the table's stream contains; None for no stream."""
    provisioned: tuple[int, int] | None = None
    """Read and write units per second; None for on-demand billing."""
    transactions: bool = False
    """Whether the program uses transactions; a store without them is then rejected."""
    point_in_time_recovery: bool = False
    """Whether AWS keeps what the table was like at each second of the last 35 days."""
    replicas: tuple[str, ...] = ()
    """The regions of AWS that have the table; the one in which it is created need not be among them."""
    home: str | None = None
    """The region in which its changes are followed."""

    def reject_wrong(self, table: str) -> None:
        """Raises DeclarationError for settings that no store accepts."""
        if not (self.ttl is None or isinstance(self.ttl, str)):
            raise DeclarationError(f"table {table}: ttl= names a field, not {shown(self.ttl)}")
        views = get_args(StreamView)
        if self.stream is not None and self.stream not in views:
            raise DeclarationError(f"table {table}: stream must be one of {', '.join(views)}, not {self.stream!r}")
        units: Any = self.provisioned
        if units is not None and not (
            isinstance(units, tuple) and len(units) == 2 and all(isinstance(each, int) and each > 0 for each in units)
        ):
            raise DeclarationError(
                f"table {table}: provisioned must be the read and the write units per second, such as (5, 5), "
                f"not {units!r}"
            )
        recovery: Any = self.point_in_time_recovery
        if not isinstance(recovery, bool):
            raise DeclarationError(f"table {table}: point_in_time_recovery is True or False, not {recovery!r}")
        self._reject_wrong_replicas(table)

    def _reject_wrong_replicas(self, table: str) -> None:
        regions: Any = self.replicas
        if not isinstance(regions, tuple):
            raise DeclarationError(
                f'table {table}: replicas is a tuple of regions, such as ("eu-west-1", "us-east-1"), not {regions!r}'
            )
        for region in regions:
            if not isinstance(region, str) or not _REGION.fullmatch(region):
                raise DeclarationError(f"table {table}: replicas: {region!r} is not a region of AWS, such as eu-west-1")
            if regions.count(region) > 1:
                raise DeclarationError(f"table {table}: replicas names {region} twice")
        home: Any = self.home
        if home is not None and home not in regions:
            raise DeclarationError(f"table {table}: home= is one of replicas=, not {home!r}")
        if regions and self.stream != REPLICATED:
            raise DeclarationError(
                f"table {table}: a table with replicas has a stream with {REPLICATED}, not {self.stream}; leave out "
                f"stream= to get it"
            )
        if regions and self.provisioned is not None:
            raise DeclarationError(
                f"table {table}: a table with replicas is paid on demand, or its write units follow the load, which "
                f"cannot be declared here; leave out provisioned="
            )


class Table:
    """One table, with its settings, for `class Price(sk.Item, table=PRICES)`.

    `ttl` is the field with the time at which items expire, `stream` what the records of the table's stream have,
    `provisioned` the read and write units per second, if they are not paid on demand. A store without transactions is
    rejected with `transactions=True`.

        PRICES = sk.Table("prices", point_in_time_recovery=True, replicas=("eu-west-1", "us-east-1"))

    `point_in_time_recovery` keeps the last 35 days. On AWS, `replicas` are the regions that have the table; a table
    with replicas has a stream with NEW_AND_OLD_IMAGES. Stores without one or the other create the table without, and
    log that. `home` is the region in which feeds and timers follow it (docs/guides/regions.md).
    """

    _known: Final[dict[str, Table]] = {}
    _all: Final[WeakSet[Table]] = WeakSet()

    def __init__(
        self,
        name: str,
        *,
        ttl: str | None = None,
        stream: StreamView | None = None,
        provisioned: tuple[int, int] | None = None,
        transactions: bool = False,
        point_in_time_recovery: bool = False,
        replicas: tuple[str, ...] = (),
        home: str | None = None,
    ) -> None:
        reject_name("a table", name)
        self.name = name
        if replicas and stream is None:
            stream = REPLICATED
        self.settings = TableSettings(ttl, stream, provisioned, transactions, point_in_time_recovery, replicas, home)
        self.settings.reject_wrong(name)
        self._schemas: dict[str, Schema[Any]] = {}
        self._families: dict[str, Family[Schema[Any]]] = {}
        """By the attribute that tells their classes apart."""
        Table._all.add(self)

    @classmethod
    def all_called(cls, name: str) -> list[Table]:
        """The declared tables with this name, of which there is usually one."""
        return [table for table in tuple(cls._all) if table.name == name]

    @classmethod
    def named(cls, name: str) -> Table:
        found = cls._known.get(name)
        if found is None:
            found = cls._known[name] = cls(name)
        return found

    @classmethod
    def all_named(cls) -> tuple[Table, ...]:
        return tuple(cls._known.values())

    def __repr__(self) -> str:
        return f"<table {self.name}: {', '.join(schema.name for schema in self.schemas)}>"

    @property
    def schemas(self) -> tuple[Schema[Any], ...]:
        return tuple(self._schemas.values())

    def add(self, schema: Schema[Any]) -> None:
        """Adds a class; raises DeclarationError if it conflicts with another. A redefined class replaces itself."""
        name = f"{schema.owner.__module__}.{schema.owner.__qualname__}"
        self._check_ttl(schema)
        if schema.vectors and self.settings.provisioned is not None:
            raise DeclarationError(
                f"table {self.name}: a table with vector indexes is paid on demand; leave out provisioned="
            )
        for other_name, other in self._schemas.items():
            if other_name != name:
                self._reject_conflict(other, schema)
        self._join_family(schema, self._schemas.get(name))
        self._schemas[name] = schema
        for layout in schema.layouts.values():
            declare_partition(self.name, layout)

    def _join_family(self, schema: Schema[Any], replaced: Schema[Any] | None) -> None:
        if schema.tag is None:
            return
        family = self._families.setdefault(schema.tag.attribute, Family(schema.tag.attribute))
        family.add(schema, schema.tag, replaced)
        schema.family = family
        if schema.joined is not None:
            schema.joined.family = family

    @property
    def ttl_attribute(self) -> str | None:
        """The attribute of the table's TTL. Raises DeclarationError if none of its classes has the field."""
        ttl = self.settings.ttl
        if ttl is None or not self._schemas:
            return ttl
        found = (attribute for schema in self.schemas if (attribute := _ttl_attribute(schema)) is not None)
        attribute = next(found, None)
        if attribute is None:
            fields = dict.fromkeys(name for schema in self.schemas for name in schema.codec.struct.__struct_fields__)
            raise DeclarationError(f"table {self.name}: ttl={ttl!r} is not a field{suggestion(ttl, fields)}")
        return attribute

    def _check_ttl(self, schema: Schema[Any]) -> None:
        name = schema.codec.ttl_field
        if name is None:
            return
        field = schema.codec.field(name)
        reason = None
        if field.annotation.base not in _TTL_TYPES:
            reason = f"must be a datetime, or an int with the seconds since 1970, not {field.annotation.base}"
        elif field.annotation.in_key:
            reason = "is in_key, so it is not an attribute"
        elif any(_ttl_attribute(other) not in (None, field.attribute) for other in self.schemas):
            reason = f"is stored as {field.attribute!r}; all classes of a table must have the same TTL attribute"
        if reason is not None:
            raise DeclarationError(f"{schema.name}.{name}, the TTL of table {self.name}, {reason}")

    def _reject_conflict(self, one: Schema[Any], other: Schema[Any]) -> None:
        self._reject_difference(one, other, one.primary, other.primary)
        self._reject_other_vectors(one, other)
        for ours, theirs in (*_same_indexes(one, other), *_same_indexes(one.joined or one, other.joined or other)):
            self._reject_difference(one, other, ours, theirs)
        self._reject_other_types(one, other)
        self._reject_other_types(other, one)
        if _are_told_apart(one, other):
            return
        close_ends(one.primary, other.primary)
        if keys_may_collide(one.primary, other.primary):
            raise DeclarationError(
                f"table {self.name}: {one.name} {_shown(one.primary)} and {other.name} {_shown(other.primary)} "
                f"could have the same key; start one of them with a literal of its own, or give both a tag"
            )

    def _reject_other_vectors(self, one: Schema[Any], other: Schema[Any]) -> None:
        for ours in one.vectors.values():
            for theirs in other.vectors.values():
                if ours.index == theirs.index and ours.definition != theirs.definition:
                    raise DeclarationError(
                        f"table {self.name}: {one.name}.{ours.name} and {other.name}.{theirs.name} are the vector "
                        f"index {ours.index} and differ; classes in one index must declare the same"
                    )

    def _reject_difference(self, one: Schema[Any], other: Schema[Any], ours: KeyLayout, theirs: KeyLayout) -> None:
        if _declared_partition(ours) == _declared_partition(theirs) and _shards(ours) != _shards(theirs):
            raise DeclarationError(
                f"table {self.name}: {one.name}.{ours.name} has {ours.partition!r}, {other.name}.{theirs.name} has "
                f"{theirs.partition!r}; classes in one partition must have the same shards"
            )
        if _definition(ours) != _definition(theirs):
            shared = "the primary key" if ours.index is None else f"index {ours.index}"
            raise DeclarationError(
                f"table {self.name}: {one.name}.{ours.name} has {_described(ours)}, "
                f"{other.name}.{theirs.name} has {_described(theirs)}; all classes of a table must have the same "
                f"attributes, types and projection in {shared}{'' if ours.index is None else ', or use another index'}"
            )

    def _reject_other_types(self, one: Schema[Any], other: Schema[Any]) -> None:
        """A row whose attribute has another type than the key of an index declares is rejected by the store, also a row
        of a class that is not in the index."""
        for layout in one.layouts.values():
            for part in layout.attributes:
                found = _stored_type(other, part.name)
                if found is not None and found[1] != part.tag:
                    raise DeclarationError(
                        f"table {self.name}: {other.name}.{found[0]} is stored as {found[1]} in the attribute "
                        f"{part.name!r}, which {one.name}.{layout.name} declares as {part.tag}; rename one of them, "
                        f"with sk.field(name=…) or names="
                    )

    def schema_of(self, row: Row) -> Schema[Any] | None:
        """The class of a row, by its primary key; None for a row of no declared class."""
        found = next((schema for schema in self._schemas.values() if schema.recognises(row)), None)
        return found if found is None or found.family is None else found.family.schema_of(row) or found

    def schema_of_misplaced(self, row: Row) -> Schema[Any] | None:
        """The class of a row that no class recognises, because it is in another shard than its fields say."""
        found = (schema for schema in self._schemas.values() if schema.primary.sharding and schema.has_form(row))
        return next(found, None)

    def recognises(self, row: Row) -> bool:
        """Whether the row is of a declared class."""
        return self.schema_of(row) is not None

    def decode(self, row: Row) -> Any | None:
        """The item of a row of any class; None for a row of no declared class."""
        schema = self.schema_of(row)
        return None if schema is None else schema.decode(row)

    def indexes(self, *, native: bool = True) -> dict[str, list[KeyLayout]]:
        """The key layouts of each index, by index name; `native` if the store has multi-attribute index keys."""
        found: dict[str, list[KeyLayout]] = {}
        for declared in self._schemas.values():
            schema = declared if native else declared.joined or declared
            for layout in schema.indexes.values():
                found.setdefault(str(layout.index), []).append(layout)
        return found

    def vector_indexes(self) -> dict[str, VectorLayout]:
        """The vector indexes by their names."""
        return {each.index: each for schema in self.schemas for each in schema.vectors.values()}

    def projection(self, index: str) -> Projection:
        """The projection that all classes in the index need."""
        wanted = [layout.projection for layout in self.indexes()[index]]
        listed = [name for projection in wanted if isinstance(projection, tuple) for name in projection]
        return tuple(dict.fromkeys(listed)) if listed else wanted[0]


def _are_told_apart(one: Schema[Any], other: Schema[Any]) -> bool:
    """Whether the two classes have tags in one attribute; a family has no tag twice."""
    return one.tag is not None and other.tag is not None and one.tag.attribute == other.tag.attribute


_TTL_TYPES: Final = (RealTypes.datetime, int, Decimal, float)


def _ttl_attribute(schema: Schema[Any]) -> str | None:
    name = schema.codec.ttl_field
    return None if name is None else schema.codec.field(name).attribute


def _stored_type(schema: Schema[Any], attribute: str) -> tuple[str, str] | None:
    """The field or key that a class stores in an attribute, and its one attribute type; None if there is none."""
    for layout in schema.layouts.values():
        for part in layout.attributes:
            if part.name == attribute:
                return layout.name, part.tag
    names = dict(zip(schema.owner.__struct_encode_fields__, schema.owner.__struct_fields__, strict=True))
    name = names.get(attribute)
    if name is None or name in schema.codec.in_key or name not in schema.codec.known_annotations:
        return None
    field = schema.codec.field(name)
    if field.nullable and not field.left_out:
        return name, "NULL, if it is None,"
    return (name, field.tag) if field.tag else None


def _same_indexes(one: Schema[Any], other: Schema[Any]) -> Iterator[tuple[KeyLayout, KeyLayout]]:
    for ours in one.indexes.values():
        for theirs in other.indexes.values():
            if ours.index == theirs.index:
                yield ours, theirs


def _definition(layout: KeyLayout) -> tuple[Any, ...]:
    return tuple((part.name, part.tag) for part in layout.attributes), layout.local, _projection_type(layout)


def _declared_partition(layout: KeyLayout) -> str:
    part = layout.partition
    return part.declared if isinstance(part, ShardedAttribute) else getattr(part.template, "text", "")


def _shards(layout: KeyLayout) -> tuple[int, int | None] | None:
    return None if layout.sharding is None else (layout.sharding.number, layout.sharding.formerly)


def _described(layout: KeyLayout) -> str:
    parts = " and ".join(f"{part.name} ({part.tag})" for part in layout.attributes)
    return f"{parts}, {_projection_type(layout)}" + (", local" if layout.local else "")


def _projection_type(layout: KeyLayout) -> str:
    return "INCLUDE" if isinstance(layout.projection, tuple) else layout.projection


def _shown(layout: KeyLayout) -> str:
    return f"({', '.join(map(repr, layout.attributes))})"

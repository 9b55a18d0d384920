"""`Schema`: a class's declarations, compiled: codec, key layouts, version and upgrades."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final, Generic, TypeVar

import msgspec

from sortkey.model.errors import DeclarationError, DecodeError, EncodeError
from sortkey.model.fields.codec import Codec, Row, extra, set_stored_forms, stored_forms
from sortkey.model.fields.converter import NULL, Value
from sortkey.model.fields.records import declared_default, tag_of
from sortkey.model.fields.stored_forms import write_stored
from sortkey.model.fields.untyped_values import from_upgrade, to_untyped
from sortkey.model.items.family import Family, is_root
from sortkey.model.items.revision import revision_of
from sortkey.model.items.row_reader import Part, RowReader
from sortkey.model.items.row_writer import RowWriter, compile_writer
from sortkey.model.items.stamps import ComputedField, Stamps, stamps_of
from sortkey.model.keys.key_attribute import KeyAttribute, NativeAttribute
from sortkey.model.keys.key_layout import KeyLayout


class IndexKeysDisagree(DecodeError):
    """Two index keys of a row have different values of one field, and nothing else has it."""


class IncompleteRow(DecodeError):
    """A row lacks a required field."""


def reads_alike(base: Codec, derived: Codec) -> bool:
    """Whether each field of the base has the same attribute, type and default in a class that derives from it."""
    return all(
        field.attribute == derived.by_name[name].attribute
        # How a field is computed says nothing about how it is read.
        and field.annotation._replace(computed=None) == derived.by_name[name].annotation._replace(computed=None)
        and _is_same(declared_default(base.struct, name), declared_default(derived.struct, name))
        for name, field in base.by_name.items()
    )


def _is_same(one: Any, other: Any) -> bool:
    """Whether two defaults are the same. Types are compared, because 1 == True, and factories, not what they make."""
    if one is other:
        return True
    one, other = getattr(one, "factory", one), getattr(other, "factory", other)
    return type(one) is type(other) and bool(one == other)


VERSION_ATTRIBUTE: Final = "_v"
_WITHOUT_BINARY: Final = frozenset({"S", "N", "BOOL", "SS", "NS"})
"""The tags of fields that have no binary inside."""

T = TypeVar("T", bound=msgspec.Struct)
Upgrade = Callable[[dict[str, Any]], dict[str, Any]]


class VectorLayout(msgspec.Struct, frozen=True):
    """A vector index of a class."""

    name: str
    """The name of the class attribute."""
    index: str
    """DynamoDB's name."""
    vector: str
    """The field with the vector."""
    attribute: str
    """Its attribute."""
    dimensions: int
    distance: str
    partition: NativeAttribute | None
    """What every search must give."""
    filters: tuple[NativeAttribute, ...]
    """What a search may give."""
    projection: str | tuple[str, ...]
    """ALL, KEYS_ONLY, or attributes."""

    @property
    def compared(self) -> tuple[NativeAttribute, ...]:
        return self.filters if self.partition is None else (self.partition, *self.filters)

    @property
    def fields(self) -> tuple[str, ...]:
        """Those that a path may have."""
        return tuple(each.field.name for each in self.compared)

    @property
    def definition(self) -> tuple[Any, ...]:
        """What classes that share the index must agree on."""
        compared = tuple((each.name, each.tag) for each in self.compared)
        return self.attribute, self.dimensions, self.distance, self.partition is None, compared, self.projection


class Schema(Generic[T]):
    def __init__(
        self,
        owner: type[T],
        table: str,
        codec: Codec,
        primary: KeyLayout,
        indexes: Mapping[str, KeyLayout],
        version: int,
        joined: Mapping[str, KeyLayout] | None = None,
        vectors: Mapping[str, VectorLayout] | None = None,
    ) -> None:
        self.owner = owner
        self.name = owner.__name__
        self.table = table
        self.codec = codec
        self.primary = primary
        self.indexes = dict(indexes)
        """By the name of the class attribute; `layout.index` is the index name."""
        self.vectors = dict(vectors or {})
        """By the name of the class attribute."""
        self.version = version
        self._upgrades: dict[int, Upgrade] = {}
        self.tag = tag_of(owner)
        self.family: Family[Schema[Any]] | None = None
        """The classes that the tag tells apart from this one; the table sets it. None without a tag."""
        self.is_joined = False
        """Whether it is the `joined` of another."""
        self.joined: Schema[T] | None = None
        """The schema for a store without multi-attribute index keys: the attributes of such a key are joined to one
        string. None if the class has no such index."""
        if joined is not None:
            self.joined = Schema(owner, table, codec, primary, joined, version, vectors=vectors)
            self.joined._upgrades = self._upgrades
            self.joined.is_joined = True

    @cached_property
    def stamps(self) -> Stamps | None:
        """The fields that sessions set by themselves; None if there are none."""
        return stamps_of(self.codec, self.codec.known_annotations)

    @cached_property
    def revision(self) -> str | None:
        """The field that counts the writes of an item; None if there is none."""
        return revision_of(self.codec, self.codec.known_annotations)

    @cached_property
    def computed(self) -> tuple[ComputedField, ...]:
        """The fields that are computed from others."""
        return () if self.stamps is None else self.stamps.computed

    @cached_property
    def set_by_sessions(self) -> frozenset[str]:
        """The fields that no update can change: the revision, and computed fields."""
        revision = () if self.revision is None else (self.revision,)
        return frozenset((*revision, *(field.name for field in self.computed)))

    @property
    def layouts(self) -> dict[str, KeyLayout]:
        return {self.primary.name: self.primary, **self.indexes}

    @cached_property
    def all_indexes(self) -> tuple[KeyLayout, ...]:
        """The indexes, with those of the joined schema, whose keys a copied row may have."""
        return (*self.indexes.values(), *(() if self.joined is None else self.joined.indexes.values()))

    def sharing(self, layout: KeyLayout) -> tuple[KeyLayout, ...]:
        """The other indexes that have an attribute of this one."""
        return self._sharing[layout.name]

    @cached_property
    def _sharing(self) -> dict[str, tuple[KeyLayout, ...]]:
        names = {name: {part.name for part in layout.attributes} for name, layout in self.indexes.items()}
        return {
            name: tuple(self.indexes[each] for each in names if each != name and not names[each].isdisjoint(own))
            for name, own in names.items()
        }

    @cached_property
    def key_attributes(self) -> dict[str, KeyAttribute]:
        """All key attributes, by name."""
        return {part.name: part for layout in self.layouts.values() for part in layout.attributes}

    @cached_property
    def has_binary(self) -> bool:
        """Whether binary may be in what its fields and keys are stored as."""
        tags = {field.tag for field in self.codec.fields}.union(part.tag for part in self.key_attributes.values())
        return not tags <= _WITHOUT_BINARY

    @cached_property
    def key_names(self) -> frozenset[str]:
        """The names of all key attributes, with those of the joined schema, which a copied row may have."""
        joined = frozenset() if self.joined is None else self.joined.key_names
        return joined.union(self.key_attributes)

    @cached_property
    def recomputed(self) -> frozenset[str]:
        """The fields that index keys and other fields are computed from; native attributes are not computed."""
        of_keys = (field for layout, part in self._templates() for field in layout.sparse.union(part.fields))
        return frozenset(of_keys).union(*(field.inputs for field in self.computed))

    @cached_property
    def plain(self) -> frozenset[str]:
        """The fields on which no key and no computed field depends: an update of them changes nothing else."""
        sources = (layout.sources for layout in self.layouts.values())
        bound = self.recomputed.union(self.index_sources, self.set_by_sessions, *sources)
        return frozenset(self.codec.by_name) - bound

    def _templates(self) -> Iterator[tuple[KeyLayout, KeyAttribute]]:
        """The attributes of index keys that are computed, and are not fields themselves."""
        for layout in self.indexes.values():
            for part in layout.computed:
                if part.name not in self.codec.attributes:
                    yield layout, part

    def required_in(self, layout: KeyLayout) -> tuple[str, ...]:
        """The fields of an index whose attributes a row must have."""
        return self._required_in[layout.name]

    @cached_property
    def _required_in(self) -> dict[str, tuple[str, ...]]:
        must = {name for name in self.codec.required if self.codec.by_name[name].absent is None}
        must.difference_update(self.primary.fields, self.codec.in_key)
        return {name: tuple(field for field in layout.fields if field in must) for name, layout in self.indexes.items()}

    @cached_property
    def held_by_keys(self) -> frozenset[str]:
        """The fields that keys and indexes contain."""
        joined = frozenset() if self.joined is None else self.joined.held_by_keys
        return joined.union(*(layout.fields for layout in self.layouts.values()))

    @cached_property
    def version_mark(self) -> tuple[str, Value | None]:
        """The attribute with the version, as rows of the current version have it: None, for absent, with version 1."""
        return VERSION_ATTRIBUTE, {"N": str(self.version)} if self.version > 1 else None

    def is_outdated(self, row: Row) -> bool:
        """Whether the row is not marked with the current version, so that its attributes may be others."""
        return row.get(VERSION_ATTRIBUTE) != self.version_mark[1]

    @cached_property
    def declared(self) -> frozenset[str]:
        """The attributes that the declarations explain; others are extra."""
        stored = self.codec.attributes - set(self._unstored)
        return stored | self.key_names | {VERSION_ATTRIBUTE} | self._marks.keys()

    @cached_property
    def _marks(self) -> dict[str, Value]:
        """The attributes that are the same in all rows of the class: the version, if there were others, and the tag."""
        tag = {} if self.tag is None else {self.tag.attribute: self.tag.value}
        name, mark = self.version_mark
        return tag if mark is None else {**tag, name: mark}

    @cached_property
    def _dense(self) -> tuple[tuple[str, Callable[[object], Value]], ...]:
        """The key attributes that every item has, and the functions that compute them."""
        return tuple(
            (part.name, part.value_from)
            for layout in self.layouts.values()
            if not layout.sparse
            for part in layout.computed
        )

    @cached_property
    def _sparse(self) -> tuple[KeyLayout, ...]:
        return tuple(layout for layout in self.indexes.values() if layout.sparse)

    @cached_property
    def reader(self) -> RowReader[T]:
        """For rows in JSON."""
        return self._reader(None)

    def part_reader(self, part: Part) -> RowReader[T] | None:
        """For parts of rows in JSON; None if only the codec reads them."""
        if (
            self.index_sources
            or self.shares_fields
            or self.primary.sharding is not None
            or not self._marks.keys() <= part.attributes
        ):
            return None
        return self._reader(part)

    def _reader(self, part: Part | None) -> RowReader[T]:
        joined = {} if self.joined is None else self.joined.key_attributes
        keys = {**joined, **self.key_attributes}
        return RowReader(self.owner, self.codec, self.primary, keys, self._marks, self.index_sources, part)

    @cached_property
    def writer(self) -> RowWriter | None:
        """Writes rows as `encode` does, with their size; None if the class has none."""
        return None if self.sparsely_held else compile_writer(self.codec.fields, self.layouts, self._marks)

    def encode(self, item: T) -> Row:
        """The row: attributes, key attributes, version, and the extra attributes that the item was read with."""
        row = self.codec.encode(item)
        if self._unstored:
            kept = extra(item)
            for attribute in self._unstored:
                row.pop(attribute, None)
                if attribute in kept:
                    row[attribute] = kept[attribute]
        for name, value_from in self._dense:
            row[name] = value_from(item)
        for layout in self._sparse:
            row |= layout.attributes_of(item)
        if self.sparsely_held:
            self._require_held(item, row)
        for name, value in self._marks.items():
            row[name] = value.copy()
        if forms := stored_forms(item):
            write_stored(row, forms)
        return row

    def _require_held(self, item: T, row: Row) -> None:
        """Raises EncodeError for an item with an `in_key` field that none of its index keys holds."""
        for field in self.sparsely_held:
            if getattr(item, field) is not None and not any(part.name in row for part in self.index_sources[field]):
                raise self.not_held(field)

    def not_held(self, field: str) -> EncodeError:
        absent = sorted({name for each in self.homes(field) for name in each.sparse if name != field})
        return EncodeError(
            f"{self.name}.{field} is in_key, and the item is in no index that holds it: give it "
            f"{', '.join(absent)}, or make {field} None"
        )

    @cached_property
    def sparsely_held(self) -> tuple[str, ...]:
        """The `in_key` fields whose index keys all depend on other fields that may be None."""
        return tuple(name for name in self.index_sources if all(each.sparse - {name} for each in self.homes(name)))

    def homes(self, field: str) -> tuple[KeyLayout, ...]:
        """The indexes whose keys hold an `in_key` field."""
        parts = self.index_sources[field]
        return tuple(each for each in self.indexes.values() if any(part in parts for part in each.computed))

    @cached_property
    def index_sources(self) -> dict[str, tuple[KeyAttribute, ...]]:
        """The `in_key` fields that the primary key does not hold, and the attributes of index keys that hold them."""
        names = [name for name in self.codec.by_name if name in self.codec.in_key and name not in self.primary.fields]
        parts = {part.name: part for layout in self.indexes.values() for part in layout.computed}
        return {name: tuple(part for part in parts.values() if name in part.held) for name in names}

    def attributes_with(self, field: str) -> tuple[str, ...]:
        """The attributes that hold a field outside of the primary key: its own, or those of index keys."""
        sources = self.index_sources.get(field)
        return (self.codec.by_name[field].attribute,) if sources is None else tuple(part.name for part in sources)

    def held_by_indexes(self, row: Row) -> dict[str, Any]:
        """The `in_key` fields in a row's index keys. Raises DecodeError, also if two keys disagree."""
        found: dict[str, Any] = {}
        for name, parts in self.index_sources.items():
            for part in parts:
                value = row.get(part.name, NULL)
                if value == NULL:
                    continue
                held = part.parse(value)
                if held is None:
                    raise DecodeError(
                        f"a row of {self.name} has {part.name}={value!r}, which {part!r} cannot read, and only this "
                        f"key would have {name}"
                    )
                if found.setdefault(name, held[name]) != held[name]:
                    shown = ", ".join(f"{each.name}={row.get(each.name)!r}" for each in parts)
                    raise IndexKeysDisagree(f"the index keys of a row of {self.name} disagree about {name}: {shown}")
        return found

    def key_of(self, item: T) -> Row:
        """The item's primary key."""
        return self.primary.attributes_of(item)

    def recognises(self, row: Row) -> bool:
        """Whether the row's primary key has this class's form, and its tag, if the class has one, is that of this class
        or of a subclass. The class that others derive from has the rows with unknown tags, too. A sharded key must be
        in the shard of its fields."""
        return self.has_form(row) and (self.primary.sharding is None or not self.primary.is_misplaced(row))

    def has_form(self, row: Row) -> bool:
        """The same, in whatever shard the row is."""
        if not self.primary.matches(row) or (self.shares_fields and self.primary.parse(row) is None):
            return False
        return self.has_own_tag(row)

    def has_own_tag(self, row: Row) -> bool:
        """Whether a row whose key has this class's form is of this class."""
        if self.family is None:
            return True
        found = self.family.schema_of(row)
        return is_root(self.owner) if found is None else issubclass(found.owner, self.owner)

    @property
    def required_tags(self) -> tuple[str, list[Value]] | None:
        """The tag's attribute, and the tags of this class and its subclasses; None if no other may have its keys."""
        tags = None if self.family is None else self.family.required_tags(self)
        return None if self.family is None or tags is None else (self.family.attribute, tags)

    def reads_alike(self, derived: Schema[Any]) -> bool:
        """Whether a subclass reads the fields of this class as this class does."""
        return (
            self.version == derived.version
            and repr(self.primary.attributes) == repr(derived.primary.attributes)
            and repr(self.index_sources) == repr(derived.index_sources)
            and reads_alike(self.codec, derived.codec)
        )

    @property
    def exclusive_tags(self) -> tuple[str, list[Value]] | None:
        """The tag's attribute, and the tag of this class alone, if a subclass reads fields of this class otherwise: by
        another version, attribute, type or default. The store can then not judge the rows of subclasses."""
        if self.tag is None or self.family is None or self.family.reads_alike(self):
            return None
        return self.tag.attribute, [self.tag.value]

    def needs_program(self, row: Row) -> bool:
        """Whether the store cannot judge the row, because it has another version, or a subclass reads it otherwise."""
        exclusive = self.exclusive_tags
        return self.is_outdated(row) or (exclusive is not None and row.get(exclusive[0]) not in exclusive[1])

    def of_row(self, row: Row) -> Schema[Any]:
        """The schema of the class that the row's tag names, which may be a subclass. Raises DecodeError."""
        if self.family is None:
            return self
        found = self.family.require(self.name, row)
        return found.joined or found if self.is_joined else found

    @cached_property
    def shares_fields(self) -> bool:
        """Whether the partition key and the sort key share a field, so that its values must agree."""
        return len(self.primary.fields) < sum(len(part.held) for part in self.primary.attributes)

    def decode_own(self, row: Row) -> T | None:
        """The item of a row; None for a row of another class."""
        return self.decode(row) if self.recognises(row) else None

    def decode(self, row: Row) -> T:
        """The item of a row of this class, or of the subclass that its tag names, upgraded to the current version."""
        if self.family is not None and (own := self.of_row(row)) is not self:
            item: T = own.decode(row)
            return item
        stored = row
        if self.version > 1 or VERSION_ATTRIBUTE in row:
            row = self.upgraded(row)
        values = self.codec.decode(self.without_unstored(row) if self._unstored else row)
        disagrees = self._let_key_decide(stored, values)
        if self.index_sources:
            values |= self.held_by_indexes(stored)
        if not values.keys() >= self.codec.required:
            self.require_complete(row, values)
        item = self.owner(**values)
        self.codec.keep_extra(item, row, self.declared)
        if disagrees or self.codec.may_differ(row):
            self.keep_forms(item, row)
        return item

    def keep_forms(self, item: T, row: Row) -> None:
        """Lets the item keep what its row has in other forms than it is written in."""
        set_stored_forms(item, self.codec.differing(item, row))

    def decoded(self, row: Row) -> dict[str, Any]:
        """The fields in the attributes and the primary key of a row of the current version. Raises DecodeError."""
        values = self.codec.decode(self.without_unstored(row) if self._unstored else row)
        self._let_key_decide(row, values)
        return values | self.held_by_indexes(row) if self.index_sources else values

    def _let_key_decide(self, stored: Row, values: dict[str, Any]) -> bool:
        """Gives the fields of the primary key the values that it has: it says which row the item is, whatever an
        attribute or a default says. Returns whether one was another. Raises DecodeError."""
        disagrees = False
        if not self.primary.is_key_of(stored, values):
            for name, value in self.parsed_key(stored).items():
                # Equal values may have several forms, such as times in several zones.
                if name not in values or values[name] != value:
                    values[name] = value
                    disagrees = True
        return disagrees

    def parsed_key(self, row: Row) -> dict[str, Any]:
        """The fields in a row's primary key. Raises DecodeError."""
        found = self.primary.parse(row)
        if found is None:
            key = ", ".join(f"{part.name}={row.get(part.name)!r}" for part in self.primary.attributes)
            templates = ", ".join(map(repr, self.primary.attributes))
            raise DecodeError(f"a row of {self.name} has a key that {templates} cannot read: {key}")
        return found

    @cached_property
    def _unstored(self) -> tuple[str, ...]:
        """The attributes of `in_key` fields. A row that has one has it as an undeclared attribute."""
        return tuple(self.codec.by_name[name].attribute for name in self.codec.in_key)

    def extra_after(self, kept: Row, changes: Mapping[str, Any]) -> Row:
        """The undeclared attributes of an item after changes of its fields. One with the name of an `in_key` field of
        the primary key follows that field."""
        names = self.codec.in_key.intersection(changes, self.primary.fields)
        changed = [self.codec.by_name[name] for name in names]
        return kept | {
            field.attribute: field.encode(changes[field.name]) for field in changed if field.attribute in kept
        }

    def without_unstored(self, row: Row) -> Row:
        """The row without attributes that have the name of an `in_key` field."""
        return {name: value for name, value in row.items() if name not in self._unstored}

    def require_complete(self, row: Row, values: Mapping[str, Any]) -> None:
        """Raises DecodeError for a row without a required field."""
        missing = sorted(self.codec.required - values.keys())
        if not missing:
            return
        alone = [name for name in missing if name in self.only_in_index_keys(row)]
        if alone:
            raise IncompleteRow(
                f"a row of {self.name} has no attribute {', '.join(alone)}, and an index key has it: if programs store "
                f"it there only, declare it as Annotated[…, sk.in_key]; if not, the attribute is lost: {row!r}"
            )
        held = {name: self.attributes_with(name) for name in missing if name in self.index_sources}
        keys = "".join(f" ({name} is in {' or '.join(parts)})" for name, parts in held.items())
        raise IncompleteRow(f"a row of {self.name} has no {', '.join(missing)}{keys}: {row!r}")

    def only_in_index_keys(self, row: Row) -> dict[str, tuple[str, Any]]:
        """The stored fields whose attributes a row of the current version lacks, and that an index key has with another
        value than the item shows: the key attribute, and the value."""
        found: dict[str, tuple[str, Any]] = {}
        for layout in self.all_indexes:
            for part in layout.attributes:
                for name, value in (part.parse(row.get(part.name, {})) or {}).items():
                    if (
                        name not in self.primary.fields
                        and name not in self.codec.in_key
                        and self.codec.by_name[name].attribute not in row
                        and self.codec.if_absent(name) != value
                    ):
                        found.setdefault(name, (part.name, value))
        return found

    def add_upgrade(self, version: int, function: Upgrade) -> None:
        if not 1 <= version < self.version:
            raise DeclarationError(f"{self.name} has version {self.version}; an upgrade from {version} is not possible")
        if version in self._upgrades:
            raise DeclarationError(f"{self.name} has an upgrade from {version} already")
        self._upgrades[version] = function

    def row_version(self, row: Row) -> int:
        """The version of a row. Raises DecodeError for one that this program does not know."""
        mark = row.get(VERSION_ATTRIBUTE, {"N": "1"})
        try:
            version = int(mark["N"])
        except (KeyError, ValueError):
            raise DecodeError(
                f"a row of {self.name} has {mark!r} as {VERSION_ATTRIBUTE}, which is not a version"
            ) from None
        if version > self.version:
            raise DecodeError(
                f"a row of {self.name} has version {version}; this program knows versions up to {self.version}"
            )
        return version

    def upgraded(self, row: Row) -> Row:
        """The row as the upgrades make it of the current version, without its mark. Raises what an upgrade raises."""
        version = self.row_version(row)
        if version == self.version:
            return row
        keys = {name: value for name, value in row.items() if name in self._key_only}
        attributes = {name: to_untyped(value) for name, value in row.items() if name not in self._key_only}
        for step in range(version, self.version):
            if step not in self._upgrades:
                raise DecodeError(f"a row of {self.name} has version {step}, and there is no upgrade from it")
            attributes = self._upgrades[step](attributes)
        return keys | {
            name: from_upgrade(value, self._encoders.get(name))
            for name, value in attributes.items()
            # None removes an attribute, but one that was NULL may be nobody's to remove.
            if value is not None or row.get(name) == NULL
        }

    @cached_property
    def _encoders(self) -> dict[str, Callable[[Any], Value]]:
        """The encoders of the fields, by attribute."""
        return {field.attribute: field.encode for field in self.codec.by_name.values()}

    @cached_property
    def _key_only(self) -> frozenset[str]:
        """Computed attributes, which upgrades do not get and cannot set."""
        return self.key_names - self.codec.attributes | {VERSION_ATTRIBUTE} | self._marks.keys()

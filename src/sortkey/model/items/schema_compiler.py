"""Compiles the declarations of a class to its schema, and rejects every mistake that is visible at import."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any

import msgspec

from sortkey.model.errors import DeclarationError, suggestion
from sortkey.model.fields.annotation import Annotation, parse_annotation
from sortkey.model.fields.codec import Codec, Field, codec_of
from sortkey.model.fields.records import tag_of
from sortkey.model.fields.stored_as import StoredType
from sortkey.model.items.entries import reject_overlaps
from sortkey.model.items.key import Declaration, Index, Key
from sortkey.model.items.revision import revision_of
from sortkey.model.items.schema import VERSION_ATTRIBUTE, Schema, T
from sortkey.model.items.stamps import stamps_of
from sortkey.model.items.vector_index import compile_vector_index, vector_declarations
from sortkey.model.keys.key_attribute import (
    JoinedAttribute,
    KeyAttribute,
    NativeAttribute,
    ShardedAttribute,
    TemplateAttribute,
)
from sortkey.model.keys.key_layout import KeyLayout, Projection
from sortkey.model.keys.shards import Sharding, Shards
from sortkey.model.keys.template import ParsedTemplate, Template

_NATIVE = frozenset({"N", "B"})
_KEY_TAGS = frozenset({"S", "N", "B"})


def compile_schema(owner: type[T], table: str, version: int) -> Schema[T]:
    codec = codec_of(owner)
    codec.reject_type_variables()
    declared = declarations(owner)
    keys = [declaration for declaration in declared.values() if isinstance(declaration, Key)]
    if len(keys) != 1:
        raise DeclarationError(f"{owner.__name__} has {len(keys) or 'no'} sk.Key; a class with a table has exactly one")
    if VERSION_ATTRIBUTE in owner.__struct_encode_fields__:
        raise DeclarationError(f"{owner.__name__}.the attribute {VERSION_ATTRIBUTE} is reserved for the version")
    if type(version) is not int or version < 1:
        raise DeclarationError(f"{owner.__name__}: a version is a whole number from 1 on, not {version!r}")
    compiler = _Compiler(owner, codec, keys[0], version)
    indexes = {name: compiler.index(index) for name, index in declared.items() if isinstance(index, Index)}
    compiler.check_in_key(indexes.values())
    joined = None
    if any(layout.is_multi_attribute for layout in indexes.values()):
        joined = {
            name: compiler.joined(index) if indexes[name].is_multi_attribute else indexes[name]
            for name, index in declared.items()
            if isinstance(index, Index)
        }
    vectors = {name: compile_vector_index(owner, codec, each) for name, each in vector_declarations(owner).items()}
    schema = Schema(owner, table, codec, compiler.primary, indexes, version, joined, vectors)
    _check_set_by_sessions(schema)
    for name, layout in schema.layouts.items():
        compiler.check_signature(declared[name], layout)
    _check_shared_attributes(schema)
    _check_tag(schema)
    reject_overlaps(owner, frozenset({*owner.__struct_encode_fields__, *schema.key_names, VERSION_ATTRIBUTE}))
    return schema


def _check_shared_attributes(schema: Schema[Any]) -> None:
    """A row has one value of an attribute, so the keys that share it must have one template of it."""
    for each in (schema, *(() if schema.joined is None else (schema.joined,))):
        known: dict[str, tuple[KeyLayout, KeyAttribute]] = {}
        for layout in each.layouts.values():
            for part in layout.attributes:
                first, theirs = known.setdefault(part.name, (layout, part))
                if repr(theirs) != repr(part):
                    raise DeclarationError(
                        f"{schema.name}.{layout.name}: the attribute {part.name!r} cannot hold {part!r}, since it "
                        f"holds {theirs!r} in {schema.name}.{first.name}; give the index other attributes with names="
                    )


def _check_set_by_sessions(schema: Schema[Any]) -> None:
    """A write cannot move an item, and the new revision is not known before the store has added to it. Not asked of
    the schema, which would remember the answer: a type may be defined later."""
    annotations = schema.codec.known_annotations
    stamps, revision = stamps_of(schema.codec, annotations), revision_of(schema.codec, annotations)
    for field in () if stamps is None else stamps.computed:
        if field.name in schema.primary.fields:
            raise DeclarationError(f"{schema.name}.{field.name}: a computed field cannot be in the primary key")
    for layout in schema.layouts.values():
        if revision in layout.fields:
            raise DeclarationError(f"{schema.name}.{layout.name}: a key cannot have {revision}, which is sk.version")


def _check_tag(schema: Schema[Any]) -> None:
    """A row of an index must have the tag, and a key cannot be it."""
    if schema.tag is None:
        return
    if schema.tag.attribute in schema.key_names | {VERSION_ATTRIBUTE}:
        raise DeclarationError(f"{schema.name}: the tag_field {schema.tag.attribute!r} is a key attribute already")
    for layout in schema.indexes.values():
        if layout.projection == "KEYS_ONLY":
            raise DeclarationError(
                f"{schema.name}.{layout.name}: KEYS_ONLY does not project the tag, which says what class a row is of; "
                f"use a projection of fields"
            )


def declarations(owner: type) -> dict[str, Declaration]:
    """The keys and indexes of a class and its bases, by name; a class may override those of its bases."""
    found = {name: value for base in reversed(owner.__mro__) for name, value in vars(base).items()}
    return {name: value for name, value in found.items() if isinstance(value, Declaration)}


class _Compiler:
    def __init__(self, owner: type[msgspec.Struct], codec: Codec, key: Key, version: int) -> None:
        self.owner = owner
        self.version = version
        self.codec = codec
        self.key = key
        self.attributes = dict(zip(owner.__struct_encode_fields__, owner.__struct_fields__, strict=True))
        """Field names, by attribute."""
        self.primary = self._layout(key)
        if self.primary.sparse:
            raise self._error(key, f"{', '.join(self.primary.sparse)} may be None, which a primary key cannot be")

    def check_in_key(self, indexes: Iterable[KeyLayout]) -> None:
        """Rejects an `in_key` field that no key always holds."""
        in_key = self.codec.in_key
        for name in sorted(in_key):
            holding = [layout for layout in (self.primary, *indexes) if name in layout.fields]
            homes = [layout for layout in holding if self._is_held(name, layout)]
            if not homes:
                reason = "it is the key attribute itself" if holding else "no key contains it"
                raise DeclarationError(f"{self.owner.__name__}.{name}: cannot be in_key: {reason}")
            if all(layout.sparse - in_key for layout in homes):
                others = ", ".join(sorted(homes[0].sparse - in_key))
                raise DeclarationError(
                    f"{self.owner.__name__}.{name}: cannot be in_key: an item is not in {homes[0].name} if {others} is "
                    f"None, and nothing else would hold {name}; make {others} in_key, too, or store {name}"
                )

    def _is_held(self, name: str, layout: KeyLayout) -> bool:
        return any(name in part.held and part.name not in self.attributes for part in layout.attributes)

    def check_signature(self, declared: Declaration, layout: KeyLayout) -> None:
        if declared.signature is None:
            return
        try:
            declared.signature.check(self.owner, layout, self._annotations(declared))
        except DeclarationError as error:
            raise self._error(declared, str(error)) from None

    def index(self, index: Index) -> KeyLayout:
        if index.multi_attribute is not None:
            return self._of_fields(index, *index.multi_attribute)
        if not index.local:
            return self._layout(index, index=index.index, projection=self._projection(index))
        if index.partition != self.key.partition:
            raise self._error(
                index, f"a local index must have the partition key of {self.owner.__name__}.{self.key.name}"
            )
        if self.key.sort is None:
            raise self._error(
                index, f"a local index needs a table with a sort key, which {self.owner.__name__}.{self.key.name} lacks"
            )
        return self._layout(index, index=index.index, local=True, projection=self._projection(index))

    def joined(self, index: Index) -> KeyLayout:
        """A multi-attribute index, for a store without multi-attribute index keys."""
        return self._layout(index, index=index.index, projection=self._projection(index))

    def _of_fields(self, index: Index, partition: tuple[str, ...], sort: tuple[str, ...]) -> KeyLayout:
        annotations = self._annotations(index)
        partitions = tuple(self._own(index, name) for name in partition)
        sorts = tuple(self._own(index, name) for name in sort)
        optional = [field for field, annotation in annotations.items() if annotation.optional]
        return KeyLayout(
            index.name, partitions, sorts, optional=optional, index=index.index, projection=self._projection(index)
        )

    def _own(self, index: Index, name: str) -> NativeAttribute:
        field = self.codec.field(name)
        if field.annotation.in_key:
            raise self._error(index, f"{name} is in_key, so it is not an attribute")
        self._check_own(index, field)
        return NativeAttribute(field.attribute, field)

    def _check_own(self, declared: Declaration, field: Field) -> None:
        """Rejects a field whose attribute is to be a key attribute, but may hold what a key cannot."""
        if field.tag not in _KEY_TAGS:
            raise self._error(declared, f"{field.name} is stored as {field.stored}, which a key cannot be")
        if declared is not self.key and field.annotation.optional and not field.left_out:
            raise self._error(declared, f"{field.name} is stored as NULL when it is None; make None its default")

    def _layout(
        self, declared: Declaration, *, index: str | None = None, local: bool = False, projection: Projection = "ALL"
    ) -> KeyLayout:
        annotations = self._annotations(declared)
        name = self.key.attributes[0] if local else declared.attributes[0]
        partition = self._attribute(declared, name, declared.partition, annotations, partition=True)
        sorts: tuple[KeyAttribute, ...] = ()
        if declared.sort is not None:
            sorts = (self._attribute(declared, declared.attributes[1], declared.sort, annotations, partition=False),)
        optional = [field for field, annotation in annotations.items() if annotation.optional]
        return KeyLayout(
            declared.name, (partition,), sorts, optional=optional, index=index, local=local, projection=projection
        )

    def _annotations(self, declared: Declaration) -> dict[str, Annotation]:
        fields = self.owner.__struct_fields__
        wanted = {*declared.partition.fields, *(declared.sort.fields if declared.sort else ())}
        shards = self._shards(declared)
        if shards is not None:
            wanted.update(self._placed_by(declared, shards))
        for name in sorted(wanted):
            if name not in fields:
                raise self._error(declared, f"there is no field {name!r}{suggestion(name, fields)}")
        return self.codec.annotations(wanted)

    def _attribute(
        self,
        declared: Declaration,
        name: str,
        source: ParsedTemplate,
        annotations: Mapping[str, Annotation],
        *,
        partition: bool,
    ) -> KeyAttribute:
        single = source.single_field
        own = self.attributes.get(name)
        shards = self._shards(declared)
        if partition and shards is not None:
            return self._sharded(declared, name, source, annotations, shards)
        if own is not None and own != single:
            raise self._error(
                declared, f"the attribute {name!r} belongs to the field {own}, so it cannot hold {source.text!r}"
            )
        if single is not None:
            field = self.codec.field(single)
            if own is not None:
                self._check_own(declared, field)
            if own is not None or (field.tag in _NATIVE and _is_amount(annotations[single])):
                return NativeAttribute(name, field)
        try:
            template = Template(source, annotations, partition=partition, exact=declared is self.key)
        except DeclarationError as error:
            raise self._error(declared, str(error)) from None
        return (
            TemplateAttribute(name, template) if declared.multi_attribute is None else JoinedAttribute(name, template)
        )

    def _shards(self, declared: Declaration) -> Shards | None:
        """A local index shares the partition key of the table."""
        return self.key.shards if isinstance(declared, Index) and declared.local else declared.shards

    def _placed_by(self, declared: Declaration, shards: Shards) -> tuple[str, ...]:
        """The fields that decide the shard: those of the primary key, or of its sort key if it is the primary key
        itself that has the shards."""
        if shards.by is not None:
            return (shards.by,)
        if isinstance(declared, Index) and not declared.local:
            return self.primary.fields
        return () if self.key.sort is None else self.key.sort.fields

    def _sharded(
        self,
        declared: Declaration,
        name: str,
        source: ParsedTemplate,
        annotations: Mapping[str, Annotation],
        shards: Shards,
    ) -> ShardedAttribute:
        if name in self.attributes:
            raise self._error(declared, f"the attribute {name!r} is a field, so it cannot have shards; use names=")
        by = self._placed_by(declared, shards)
        if set(by) <= set(source.fields):
            raise self._error(
                declared,
                f"{source.text!r} contains {', '.join(by)}, so all items of a partition would be in one shard; "
                f"use a field that differs among them",
            )
        try:
            sharding = Sharding(shards, by, annotations)
            return ShardedAttribute(name, source, annotations, sharding, exact=declared is self.key)
        except DeclarationError as error:
            raise self._error(declared, str(error)) from None

    def _projection(self, index: Index) -> Projection:
        if index.projection == "ALL" or index.projection == "KEYS_ONLY":
            return index.projection
        fields = dict(zip(self.owner.__struct_fields__, self.owner.__struct_encode_fields__, strict=True))
        for name in index.projection:
            if name not in fields:
                raise self._error(index, f"there is no field {name!r} to project{suggestion(name, fields)}")
            if name in self.primary.fields and name in self.codec.in_key:
                raise self._error(index, f"{name} is in_key, and every index contains the key")
        # The version tells whether the other attributes are those of the declaration.
        version = (VERSION_ATTRIBUTE,) if self.version > 1 else ()
        tag = tag_of(self.owner)
        stored = [each for name in index.projection for each in self._stored_in(index, name, fields[name])]
        return (*dict.fromkeys(stored), *version, *(() if tag is None else (tag.attribute,)))

    def _stored_in(self, index: Index, name: str, attribute: str) -> Iterator[str]:
        """The attributes that hold a field: its own, or those of other index keys if it is `in_key`."""
        if name not in self.codec.in_key:
            yield attribute
            return
        if name in (*index.partition.fields, *(index.sort.fields if index.sort else ())):
            raise self._error(index, f"{name} is in_key, and the key of the index contains it")
        for each in declarations(self.owner).values():
            templates = (each.partition, *(() if each.sort is None else (each.sort,)))
            yield from (key for key, part in zip(each.attributes, templates, strict=False) if name in part.fields)

    def _error(self, declared: Declaration, reason: str) -> DeclarationError:
        return DeclarationError(f"{self.owner.__name__}.{declared.name}: {reason}")


def _is_amount(annotation: Annotation) -> bool:
    """Whether the field is a number or a binary, also by its codec. The numbers of an Enum or a Literal are names."""
    if isinstance(annotation.base, StoredType):
        return _is_amount(parse_annotation(annotation.base.codec.stored))
    return annotation.base in (int, float, Decimal, bytes, timedelta)

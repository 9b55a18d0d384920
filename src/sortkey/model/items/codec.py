"""A struct's attributes as DynamoDB's and back, compiled once for each class.

An attribute whose value reading would supply anyway is left out: None where the default is None, and an empty set.
Where the default is something else, None and the empty set are NULL. What a row has beyond the declared attributes
stays with the item, unseen, and is written back with it: whoever reads, changes and writes an item loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final, NamedTuple

import msgspec

from sortkey.model.errors import DeclarationError, DecodeError, EncodeError
from sortkey.model.items.annotation import Annotation, Unresolved, parse_annotation, resolve_annotations
from sortkey.model.items.converter import NULL, Converter, Value, base_converter, is_set

Row = dict[str, Value]

_MISSING: Final = object()
_EXTRA: Final = "__extra__"


class Field(NamedTuple):
    name: str
    attribute: str
    annotation: Annotation
    encode: Callable[[Any], Value]
    decode: Callable[[Value], Any]
    tag: str
    read: Callable[[Any], Any] | None
    """From what is behind the tag; None where that is the value already."""
    absent: Callable[[], Any] | None
    """What reading gives when the row has no such attribute and the class no default; None if it must have one."""
    left_out: bool
    """Whether None, or the empty set, needs no attribute."""


class Codec:
    """Of one struct class. Its fields are compiled when first needed, since they may name classes further down."""

    def __init__(self, struct: type[msgspec.Struct]) -> None:
        self.struct = struct

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        annotations = resolve_annotations(self.struct)
        attributes = dict(zip(self.struct.__struct_fields__, self.struct.__struct_encode_fields__, strict=True))
        return tuple(self._field(name, attributes[name], annotations[name]) for name in attributes)

    def check(self) -> None:
        """Reject now what is known now; what names a class further down is compiled with the first item."""
        annotations = resolve_annotations(self.struct)
        for name in self.struct.__struct_fields__:
            if not isinstance(annotations[name], Unresolved):
                self._field(name, name, annotations[name])

    def annotations(self, names: set[str]) -> dict[str, Annotation]:
        """The types of these fields, which have to be known."""
        annotations = resolve_annotations(self.struct)
        for name in names:
            if isinstance(annotations[name], Unresolved):
                raise self._unknown(name, annotations[name])
        return {name: self._read(name, annotations[name]) for name in names}

    @cached_property
    def in_key(self) -> frozenset[str]:
        """The fields that say that the primary key holds them; the type of such a field is always known."""
        return frozenset(
            name
            for name, annotation in resolve_annotations(self.struct).items()
            if not isinstance(annotation, Unresolved) and self._read(name, annotation).in_key
        )

    def field(self, name: str) -> Field:
        """One field, which has to be known; the others may wait."""
        index = self.struct.__struct_fields__.index(name)
        return self._field(name, self.struct.__struct_encode_fields__[index], resolve_annotations(self.struct)[name])

    def _field(self, name: str, attribute: str, annotation: Any) -> Field:
        if isinstance(annotation, Unresolved):
            raise self._unknown(name, annotation)
        parsed = self._read(name, annotation)
        try:
            inner = base_converter(parsed, struct_converter)
        except DeclarationError as error:
            raise DeclarationError(f"{self.struct.__name__}.{name}: {error}") from None
        if is_set(parsed):
            if parsed.optional:
                raise DeclarationError(f"{self.struct.__name__}.{name}: an empty set is absent already; leave out None")
            default = _default(self.struct, name)
            empty = type(inner.decode(NULL)) if default is _MISSING else None
            return Field(name, attribute, parsed, *inner, empty, default is _MISSING or not default)
        if not parsed.optional:
            return Field(name, attribute, parsed, *inner, None, left_out=False)
        default = _default(self.struct, name)
        absent = _none if default is _MISSING else None
        left_out = default is _MISSING or default is None
        return Field(name, attribute, parsed, inner.encode, _or_none(inner), inner.tag, inner.read, absent, left_out)

    def _read(self, name: str, annotation: Any) -> Annotation:
        try:
            return parse_annotation(annotation)
        except DeclarationError as error:
            raise DeclarationError(f"{self.struct.__name__}.{name}: {error}") from None

    def _unknown(self, name: str, annotation: Unresolved) -> DeclarationError:
        return DeclarationError(f"{self.struct.__name__}.{name}: {annotation.text} is not defined here")

    @cached_property
    def attributes(self) -> frozenset[str]:
        return frozenset(field.attribute for field in self.fields)

    @cached_property
    def by_name(self) -> dict[str, Field]:
        return {field.name: field for field in self.fields}

    @cached_property
    def _encoders(self) -> tuple[tuple[str, str, Callable[[Any], Value], bool, bool], ...]:
        return tuple(
            (field.name, field.attribute, field.encode, field.left_out, is_set(field.annotation))
            for field in self.fields
        )

    def encode(self, item: msgspec.Struct) -> Row:
        row: Row = extra(item).copy() if self._keeps_extra else {}
        name = ""
        try:
            for name, attribute, encode, left_out, a_set in self._encoders:
                value = getattr(item, name)
                if value is None or (a_set and not value):
                    if not left_out:
                        row[attribute] = self._null(name, value)
                else:
                    row[attribute] = encode(value)
        except EncodeError as error:
            raise EncodeError(f"{self.struct.__name__}.{name}: {error}") from None
        return row

    def encode_field(self, name: str, value: Any) -> Value | None:
        """One attribute's value; None if it needs no attribute."""
        field = self.by_name[name]
        if value is None or (is_set(field.annotation) and not value):
            return None if field.left_out else self._null(name, value)
        try:
            return field.encode(value)
        except EncodeError as error:
            raise EncodeError(f"{self.struct.__name__}.{name}: {error}") from None

    def _null(self, name: str, value: Any) -> Value:
        parsed = self.by_name[name].annotation
        if value is None and not parsed.optional:
            raise EncodeError(f"expected {getattr(parsed.base, '__name__', parsed.base)}, got None")
        return {"NULL": True}

    @cached_property
    def _decoders(self) -> tuple[tuple[str, str, Callable[[Value], Any]], ...]:
        return tuple((field.name, field.attribute, field.decode) for field in self.fields)

    @cached_property
    def _absent(self) -> tuple[tuple[str, Callable[[], Any]], ...]:
        return tuple((field.name, field.absent) for field in self.fields if field.absent is not None)

    def decode(self, row: Mapping[str, Value]) -> dict[str, Any]:
        """The values that the row has, by field."""
        values: dict[str, Any] = {}
        name, raw = "", None
        try:
            for name, attribute, decode in self._decoders:
                raw = row.get(attribute)
                if raw is not None:
                    values[name] = decode(raw)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise self._undecodable(name, raw, error) from error
        for name, absent in self._absent:
            if name not in values:
                values[name] = absent()
        return values

    @cached_property
    def required(self) -> frozenset[str]:
        return frozenset(name for name in self.struct.__struct_fields__ if _default(self.struct, name) is _MISSING)

    def keep_extra(self, item: msgspec.Struct, row: Mapping[str, Value], computed: frozenset[str]) -> None:
        """Leave with the item what the row has beyond its fields and the attributes that are computed anyway."""
        if self._keeps_extra and not row.keys() <= computed:
            set_extra(item, {name: value for name, value in row.items() if name not in computed})

    @cached_property
    def _keeps_extra(self) -> bool:
        """An Item does, once it has any; no item needs a dictionary for having none."""
        return hasattr(self.struct, _EXTRA)

    def _undecodable(self, name: str, raw: Any, error: Exception) -> DecodeError:
        field = self.by_name[name]
        if isinstance(raw, dict) and field.tag not in raw:
            return DecodeError(f"{self.struct.__name__}.{name}: expected {field.tag}, found {raw!r}")
        return DecodeError(f"{self.struct.__name__}.{name}: {raw!r}: {error}")


def declared_default(struct: type[msgspec.Struct], name: str) -> Any:
    """A field's default as msgspec keeps it: the value, or a thing with a `factory`, or NODEFAULT."""
    names = struct.__struct_fields__
    defaults = struct.__struct_defaults__
    index = names.index(name) - len(names) + len(defaults)
    return defaults[index] if index >= 0 else msgspec.NODEFAULT


def _default(struct: type[msgspec.Struct], name: str) -> Any:
    """A field's default, made if it has a factory."""
    default = declared_default(struct, name)
    if default is msgspec.NODEFAULT:
        return _MISSING
    factory = getattr(default, "factory", None)
    return factory() if factory is not None else default


def _none() -> None:
    return None


def _or_none(inner: Converter) -> Callable[[Value], Any]:
    decode = inner.decode
    return lambda value: None if "NULL" in value else decode(value)


def extra(item: msgspec.Struct) -> Row:
    """What the item's row had beyond its fields, as it was stored."""
    kept: Row = getattr(item, _EXTRA)
    return kept


def set_extra(item: msgspec.Struct, extra: Row) -> None:
    if extra:
        vars(item)[_EXTRA] = extra


_codecs: Final[dict[type, Codec]] = {}


def codec_of(struct: type[msgspec.Struct]) -> Codec:
    """The class's codec, which rejects at first sight what it cannot convert."""
    if struct not in _codecs:
        # Known before it is checked, since a struct may hold itself.
        _codecs[struct] = codec = Codec(struct)
        try:
            codec.check()
        except DeclarationError:
            del _codecs[struct]
            raise
    return _codecs[struct]


def struct_converter(struct: type[msgspec.Struct]) -> Converter:
    """A struct inside another, as a map."""
    codec = codec_of(struct)

    def encode(value: Any) -> Value:
        # Not a derived class either, whose further fields would be lost.
        if type(value) is not struct:
            raise EncodeError(f"expected {struct.__name__}, got {type(value).__name__} {value!r}")
        return {"M": codec.encode(value)}

    def read(row: Row) -> Any:
        made = struct(**codec.decode(row))
        codec.keep_extra(made, row, codec.attributes)
        return made

    return Converter(encode, lambda value: read(value["M"]), "M", read)

"""Encodes the fields of a struct or dataclass as a row and decodes rows, compiled once for each class.

A value that decoding would supply anyway is not stored: None if the default is None, and an empty set. If the default
is something else, None and the empty set are stored as NULL. Undeclared attributes of a row stay with the item as its
`extra` and are written back with it, so reading, changing and writing an item loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cached_property
from typing import Any, Final, NamedTuple

import msgspec

from sortkey.model.errors import DeclarationError, DecodeError, EncodeError
from sortkey.model.fields.annotation import Annotation, Unresolved, parse_annotation, resolve_annotations
from sortkey.model.fields.constraints import constraint_check
from sortkey.model.fields.converter import NULL, Converter, OtherForm, Value
from sortkey.model.fields.records import Tag, attribute_names, declared_default, field_names, tag_of
from sortkey.model.fields.stored_as import StoredType
from sortkey.model.fields.type_converter import base_converter, checked, is_set

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
    """Converts the content behind the tag; None if that is the value."""
    also: tuple[Callable[[Any], Value | None], ...]
    """Encoders of the other forms that the field is read in."""
    absent: Callable[[], Any] | None
    """The value if the row has no such attribute and the class no default; None if the attribute is required."""
    left_out: bool
    """Whether None or the empty set is not stored."""
    encode_checked: Callable[[Any], Value]
    """Encodes a value to be stored: raises EncodeError if a constraint excludes it. `encode` also takes operands."""
    nullable: bool
    """Whether NULL is a value of the field: None, or the empty set."""

    @property
    def stored(self) -> str:
        """The attribute type, for errors."""
        return self.tag or "one of several types"


class Codec:
    """The codec of one struct class. Fields are compiled on first use: their types may be defined later."""

    def __init__(self, struct: type[Any]) -> None:
        self.struct = struct
        self.ttl: str | None = None
        """The field or attribute of the table's TTL; a datetime there is stored as seconds since 1970."""

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        annotations = resolve_annotations(self.struct)
        attributes = dict(zip(field_names(self.struct), attribute_names(self.struct), strict=True))
        return tuple(self._field(name, attributes[name], annotations[name]) for name in attributes)

    def check(self) -> None:
        """Rejects fields that cannot be stored; a type that is not defined yet is checked with the first item."""
        annotations = resolve_annotations(self.struct)
        for name in field_names(self.struct):
            if not isinstance(annotations[name], Unresolved):
                self._field(name, name, annotations[name])

    def annotations(self, names: set[str]) -> dict[str, Annotation]:
        """The annotations of these fields. Raises DeclarationError if a type is not defined yet."""
        annotations = resolve_annotations(self.struct)
        for name in names:
            if isinstance(annotations[name], Unresolved):
                raise self._unknown(name, annotations[name])
        return {name: self._read(name, annotations[name]) for name in names}

    @cached_property
    def in_key(self) -> frozenset[str]:
        """The fields that are marked `in_key`; their types must be defined."""
        return frozenset(name for name, annotation in self.known_annotations.items() if annotation.in_key)

    @property
    def known_annotations(self) -> dict[str, Annotation]:
        """The annotations of the fields whose types are defined."""
        return {
            name: self._read(name, annotation)
            for name, annotation in resolve_annotations(self.struct).items()
            if not isinstance(annotation, Unresolved)
        }

    def field(self, name: str) -> Field:
        """One field, compiled without the others. Raises DeclarationError if its type is not defined yet."""
        index = field_names(self.struct).index(name)
        return self._field(name, attribute_names(self.struct)[index], resolve_annotations(self.struct)[name])

    def _field(self, name: str, attribute: str, annotation: Any) -> Field:
        if isinstance(annotation, Unresolved):
            raise self._unknown(name, annotation)
        parsed = self._read(name, annotation)
        try:
            inner = base_converter(parsed, record_converter)
            check = constraint_check(parsed.declared, parsed.constraints)
            self._check_default(name, parsed, inner)
        except DeclarationError as error:
            raise DeclarationError(f"{self.struct.__name__}.{name}: {error}") from None
        encode = inner.encode if check is None else checked(check, inner.encode)
        if is_set(parsed):
            if parsed.optional:
                raise DeclarationError(f"{self.struct.__name__}.{name}: an empty set is not stored, so leave out None")
            default = _default(self.struct, name)
            empty = type(inner.decode(NULL)) if default is _MISSING else None
            return Field(name, attribute, parsed, *inner, empty, default is _MISSING or not default, encode, True)
        if not parsed.optional:
            return Field(name, attribute, parsed, *inner, None, False, encode, False)
        default = _default(self.struct, name)
        absent = _none if default is _MISSING else None
        left_out = default is _MISSING or default is None
        inner = inner._replace(decode=_or_none(inner))
        return Field(name, attribute, parsed, *inner, absent, left_out, encode, True)

    def _check_default(self, name: str, annotation: Annotation, inner: Converter) -> None:
        """Rejects a default that a codec of the program's own cannot encode."""
        default = declared_default(self.struct, name)
        if not isinstance(annotation.base, StoredType) or default is None or _is_made(default):
            return
        try:
            inner.encode(default)
        except EncodeError as error:
            raise DeclarationError(f"the default: {error}") from None

    def _read(self, name: str, annotation: Any) -> Annotation:
        try:
            parsed = parse_annotation(annotation)
        except DeclarationError as error:
            raise DeclarationError(f"{self.struct.__name__}.{name}: {error}") from None
        return parsed._replace(epoch=True) if name == self.ttl_field and parsed.base is datetime else parsed

    @property
    def ttl_field(self) -> str | None:
        """The field of the table's TTL; None if the class has none."""
        names = field_names(self.struct)
        if self.ttl in names:
            return self.ttl
        attributes = dict(zip(attribute_names(self.struct), names, strict=True))
        return None if self.ttl is None else attributes.get(self.ttl)

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
            (field.name, field.attribute, field.encode_checked, field.left_out, is_set(field.annotation))
            for field in self.fields
        )

    def encode(self, item: Any) -> Row:
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

    def encode_field(self, name: str, value: Any, *, check: bool = False) -> Value | None:
        """The attribute value of a field; None if it is not stored. With `check`, the field's constraints apply."""
        field = self.by_name[name]
        try:
            if value is None or (field.nullable and not value and is_set(field.annotation)):
                return None if field.left_out else self._null(name, value)
            return field.encode_checked(value) if check else field.encode(value)
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
        """The values of a row, by field."""
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

    def require_readable(self, name: str, row: Mapping[str, Value]) -> None:
        """Raises DecodeError for a row whose field cannot be read."""
        field = self.by_name[name]
        raw = row.get(field.attribute)
        if raw is not None:
            try:
                field.decode(raw)
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                raise self._undecodable(name, raw, error) from error

    @cached_property
    def required(self) -> frozenset[str]:
        return frozenset(name for name in field_names(self.struct) if _default(self.struct, name) is _MISSING)

    def if_absent(self, name: str) -> Any:
        """What an item shows in a field whose attribute the row lacks: the default, None or an empty set. NODEFAULT if
        a row must have the attribute."""
        field = self.by_name[name]
        if field.absent is not None:
            return field.absent()
        return _made(self._defaults[name])

    @cached_property
    def _defaults(self) -> dict[str, Any]:
        return {name: declared_default(self.struct, name) for name in field_names(self.struct)}

    def keep_extra(self, item: msgspec.Struct, row: Mapping[str, Value], computed: frozenset[str]) -> None:
        """Stores the row's attributes other than `computed` as the item's extra."""
        if self._keeps_extra and not row.keys() <= computed:
            set_extra(item, {name: value for name, value in row.items() if name not in computed})

    @cached_property
    def _keeps_extra(self) -> bool:
        """An Item does. The dict is made only for an item that has extra attributes."""
        return hasattr(self.struct, _EXTRA)

    def _undecodable(self, name: str, raw: Any, error: Exception) -> DecodeError:
        field = self.by_name[name]
        if isinstance(error, OtherForm):
            return DecodeError(f"{self.struct.__name__}.{name}: {error}")
        if isinstance(raw, dict) and field.tag and field.tag not in raw:
            remedy = _other_declaration(field.annotation.base, raw)
            return DecodeError(f"{self.struct.__name__}.{name}: expected {field.tag}, found {raw!r}{remedy}")
        return DecodeError(f"{self.struct.__name__}.{name}: {raw!r}: {error}")


def _other_declaration(base: Any, raw: Value) -> str:
    """How a field would be declared that reads a value of another attribute type, if that is known."""
    if "NULL" in raw:
        return "; a field that may be None, X | None, reads it"
    if base is datetime and "N" in raw:
        return "; Annotated[datetime, sk.epoch] reads seconds since 1970, sk.epoch_ms milliseconds"
    return ""


def _is_made(default: Any) -> bool:
    """Whether there is no default, or one that is made for each object."""
    return default is msgspec.NODEFAULT or getattr(default, "factory", None) is not None


def _default(struct: type, name: str) -> Any:
    """A field's default, or _MISSING."""
    default = _made(declared_default(struct, name))
    return _MISSING if default is msgspec.NODEFAULT else default


def _made(default: Any) -> Any:
    """A default as an object gets it: calls its factory, if it has one."""
    factory = getattr(default, "factory", None)
    return factory() if factory is not None else default


def _none() -> None:
    return None


def _or_none(inner: Converter) -> Callable[[Value], Any]:
    decode = inner.decode
    return lambda value: None if "NULL" in value else decode(value)


def extra(item: msgspec.Struct) -> Row:
    """The undeclared attributes of the row that the item was read from, in boto3 shape."""
    kept: Row = getattr(item, _EXTRA)
    return kept


def set_extra(item: msgspec.Struct, extra: Row) -> None:
    if extra:
        vars(item)[_EXTRA] = extra


_codecs: Final[dict[type, Codec]] = {}


def codec_of(struct: type) -> Codec:
    """The codec of a class. Raises DeclarationError for a field that it cannot convert."""
    if struct not in _codecs:
        # Registered before it is checked, since a struct may contain itself.
        _codecs[struct] = codec = Codec(struct)
        try:
            codec.check()
        except DeclarationError:
            del _codecs[struct]
            raise
    return _codecs[struct]


def record_converter(struct: type) -> Converter:
    """Converts a nested struct or dataclass to a map and back. The map of a struct with a tag has the tag, too."""
    codec = codec_of(struct)
    tag = tag_of(struct)

    def encode(value: Any) -> Value:
        # A derived class is rejected too: its additional fields would be lost.
        if type(value) is not struct:
            raise EncodeError(f"expected {struct.__name__}, got {type(value).__name__} {value!r}")
        return {"M": codec.encode(value)}

    def read(row: Row) -> Any:
        made = struct(**codec.decode(row))
        codec.keep_extra(made, row, codec.attributes)
        return made

    return Converter(encode, lambda value: read(value["M"]), "M", read) if tag is None else _tagged(tag, encode, read)


def _tagged(tag: Tag, encode: Callable[[Any], Value], read: Callable[[Row], Any]) -> Converter:
    def encode_tagged(value: Any) -> Value:
        return {"M": {tag.attribute: tag.value, **encode(value)["M"]}}

    def read_tagged(row: Row) -> Any:
        # A map without the tag is older than the tag.
        found = row.get(tag.attribute, tag.value)
        if found != tag.value:
            raise DecodeError(f"{tag.attribute} is {found!r}, not {tag.value!r}")
        return read({name: value for name, value in row.items() if name != tag.attribute})

    return Converter(encode_tagged, lambda value: read_tagged(value["M"]), "M", read_tagged)

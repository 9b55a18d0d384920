"""Encodes the fields of a struct or dataclass as a row and decodes rows, compiled once for each class.

A value that decoding would supply anyway is not stored: None if the default is None, and an empty set. If the default
is something else, None and the empty set are stored as NULL. Undeclared attributes of a row stay with the item as its
`extra` and are written back with it, so reading, changing and writing an item loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final, NamedTuple

import msgspec

from sortkey.limits import ATTRIBUTE_NAME_BYTES
from sortkey.model.errors import UNEXPECTED, DeclarationError, DecodeError, EncodeError, shown
from sortkey.model.fields.annotation import (
    Annotation,
    Unresolved,
    parse_annotation,
    resolve_annotations,
    type_variable,
)
from sortkey.model.fields.constraints import constraint_check
from sortkey.model.fields.converter import NULL, Converter, OtherForm, Value
from sortkey.model.fields.generated_function import generate_function
from sortkey.model.fields.real_types import RealTypes
from sortkey.model.fields.records import Tag, attribute_names, declared_default, field_names, record_class, tag_of
from sortkey.model.fields.stored_as import StoredType
from sortkey.model.fields.stored_forms import StoredForms, is_number, is_same, other_forms
from sortkey.model.fields.type_converter import base_converter, checked, is_set

Row = dict[str, Value]

_MISSING: Final = object()
_EXTRA: Final = "__extra__"
_FORMS: Final = "__stored_forms__"


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

    def __init__(self, declared: Any) -> None:
        self.declared = declared
        """The class, with its type arguments, if it is generic."""
        self.struct: type[Any] = record_class(declared)
        self.ttl: str | None = None
        """The field or attribute of the table's TTL; a datetime there is stored as seconds since 1970."""

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        annotations = resolve_annotations(self.declared)
        attributes = dict(zip(field_names(self.struct), attribute_names(self.struct), strict=True))
        return tuple(self._field(name, attributes[name], annotations[name]) for name in attributes)

    def check(self) -> None:
        """Rejects fields that cannot be stored; a type that is not defined yet is checked with the first item."""
        annotations = resolve_annotations(self.declared)
        for name, attribute in zip(field_names(self.struct), attribute_names(self.struct), strict=True):
            if not _is_storable_name(attribute):
                raise DeclarationError(f"{self.struct.__name__}.{name}: {shown(attribute)} is no name of an attribute")
            if not isinstance(annotations[name], Unresolved) and type_variable(annotations[name]) is None:
                self._field(name, name, annotations[name])

    def reject_type_variables(self) -> None:
        """Raises DeclarationError for a field whose type is not known, since the class is generic."""
        for name, annotation in resolve_annotations(self.declared).items():
            if type_variable(annotation) is not None:
                raise self._generic(name, annotation)

    def _generic(self, name: str, annotation: Any) -> DeclarationError:
        cls = self.struct.__name__
        return DeclarationError(
            f"{cls}.{name}: the type variable {type_variable(annotation)} stands for no type here; name one, as in "
            f"{cls}[int], or derive a class from that: class Of{cls}({cls}[int], table=…)"
        )

    def annotations(self, names: set[str]) -> dict[str, Annotation]:
        """The annotations of these fields. Raises DeclarationError if a type is not defined yet."""
        annotations = resolve_annotations(self.declared)
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
            for name, annotation in resolve_annotations(self.declared).items()
            if not isinstance(annotation, Unresolved)
        }

    def reject_set_by_sessions(self) -> None:
        """Raises DeclarationError for fields that sessions set only in the items of a table, not in parts of them."""
        for name, each in self.known_annotations.items():
            if each.version or each.computed is not None:
                mark = "sk.version" if each.version else repr(each.computed)
                raise DeclarationError(
                    f"{self.struct.__name__}.{name}: {mark} is for fields of an item; this class is a part of one"
                )

    def field(self, name: str) -> Field:
        """One field, compiled without the others. Raises DeclarationError if its type is not defined yet."""
        index = field_names(self.struct).index(name)
        return self._field(name, attribute_names(self.struct)[index], resolve_annotations(self.declared)[name])

    def _field(self, name: str, attribute: str, annotation: Any) -> Field:
        if isinstance(annotation, Unresolved):
            raise self._unknown(name, annotation)
        if type_variable(annotation) is not None:
            raise self._generic(name, annotation)
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
            left_out = default is _MISSING or not default
            if left_out:
                inner = inner._replace(decode=_counted_null(inner))
            return Field(name, attribute, parsed, *inner, empty, left_out, encode, True)
        if not parsed.optional:
            # A row that is older than the field has the revision 0, whether or not the class says so.
            first = int if parsed.version and _default(self.struct, name) is _MISSING else None
            return Field(name, attribute, parsed, *inner, first, False, encode, False)
        default = _default(self.struct, name)
        absent = _none if default is _MISSING else None
        left_out = default is _MISSING or default is None
        inner = inner._replace(decode=_counted_none(inner) if left_out else _or_none(inner))
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
        return parsed._replace(epoch=True) if name == self.ttl_field and parsed.base is RealTypes.datetime else parsed

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
        name, value = "", None
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
        except UNEXPECTED as error:
            raise self._unencodable(name, value, error) from error
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
        except UNEXPECTED as error:
            raise self._unencodable(name, value, error) from error

    def _unencodable(self, name: str, value: Any, error: Exception) -> EncodeError:
        where = f"{self.struct.__name__}.{name}"
        if isinstance(error, RecursionError):
            return EncodeError(f"{where}: {type(value).__name__} has too many levels, one inside the other")
        return EncodeError(f"{where}: cannot encode {shown(value)}: {type(error).__name__}: {error}")

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

    def decode(self, row: Mapping[str, Value], is_nested: bool = False) -> dict[str, Any]:
        """The values of a row, or of a map inside of one, by field."""
        values: dict[str, Any] = {}
        name, raw = "", None
        try:
            for name, attribute, decode in self._decoders:
                raw = row.get(attribute)
                if raw is not None:
                    values[name] = decode(raw)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise self._undecodable(name, raw, error) from error
        if is_nested and not len(values) == len(row) == self.size:
            self.count_other_form(row, len(values))
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

    def count_other_form(self, row: Mapping[str, Value], known: int) -> None:
        """Counts a map with `known` attributes of its record if writing the record would add one, or lose one."""
        is_lost = known < len(row) and not self._keeps_extra
        other_forms.count += is_lost or not row.keys() >= self._always_written

    @cached_property
    def _always_written(self) -> frozenset[str]:
        return frozenset(field.attribute for field in self.fields if not field.left_out)

    @cached_property
    def size(self) -> int:
        return len(self.fields)

    def differing(self, item: Any, row: Mapping[str, Value]) -> StoredForms:
        """The attributes of a row that its item would be written in another form, or not at all."""
        found: StoredForms = {}
        for field in self.fields:
            stored = row.get(field.attribute)
            if stored is None or field.annotation.in_key:
                continue
            try:
                shown = self.encode_field(field.name, getattr(item, field.name))
            except EncodeError:
                # Nothing can be written for it, so a put raises.
                continue
            if shown is None or not is_same(shown, stored):
                found[field.attribute] = shown, stored
        return found

    @cached_property
    def may_differ(self) -> Callable[[Mapping[str, Value]], bool]:
        """A quick test whether a row that was read may have something in another form than it is written in."""
        tests = filter(None, map(_form_test, self.fields))
        names = {"NOTHING": {}, "is_number": is_number}
        return generate_function(("row",), f"not ({' and '.join(tests) or True})", names)

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


def _form_test(field: Field) -> str:
    """The expression that a readable attribute is in the form of its field; empty if it always is."""
    base = field.annotation.base
    if field.annotation.in_key:
        return ""
    if field.tag == "N" and not isinstance(base, StoredType):
        test = "(value.get('N', '').isdigit() and value['N'][0] != '0' or is_number(value))"
    elif field.tag in _ONE_FORM and not isinstance(base, StoredType):
        return f"'NULL' not in row.get({field.attribute!r}, NOTHING)" if field.left_out else ""
    else:
        return f"{field.attribute!r} not in row"
    return f"((value := row.get({field.attribute!r})) is None or {test})"


_ONE_FORM: Final = frozenset({"S", "B", "BOOL", "SS", "BS"})
"""The tags of values that have one form; another one, of a time or a UUID, is not read."""


def _is_storable_name(attribute: str) -> bool:
    try:
        return 1 <= len(attribute.encode()) < ATTRIBUTE_NAME_BYTES
    except UnicodeEncodeError:
        return False


def _other_declaration(base: Any, raw: Value) -> str:
    """How a field would be declared that reads a value of another attribute type, if that is known."""
    if "NULL" in raw:
        return "; a field that may be None, X | None, reads it"
    if base is RealTypes.datetime and "N" in raw:
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


def _counted_none(inner: Converter) -> Callable[[Value], Any]:
    """The same, where NULL is another form of what is not stored."""
    decode = inner.decode

    def decode_counted(value: Value) -> Any:
        if "NULL" not in value:
            return decode(value)
        other_forms.count += 1
        return None

    return decode_counted


def _counted_null(inner: Converter) -> Callable[[Value], Any]:
    """The same, of the empty set."""
    decode = inner.decode

    def decode_counted(value: Value) -> Any:
        other_forms.count += "NULL" in value
        return decode(value)

    return decode_counted


def extra(item: msgspec.Struct) -> Row:
    """The undeclared attributes of the row that the item was read from, in boto3 shape."""
    kept: Row = getattr(item, _EXTRA)
    return kept


def set_extra(item: msgspec.Struct, extra: Row) -> None:
    if extra:
        vars(item)[_EXTRA] = extra


def stored_forms(item: msgspec.Struct) -> StoredForms:
    """The attributes of the row that the item was read from that are stored in other forms than it is written in."""
    forms: StoredForms = getattr(item, _FORMS)
    return forms


def set_stored_forms(item: msgspec.Struct, forms: StoredForms) -> None:
    if forms:
        vars(item)[_FORMS] = forms


_codecs: Final[dict[Any, Codec]] = {}


def codec_of(struct: Any) -> Codec:
    """The codec of a class, or of a generic class with its type arguments. Raises DeclarationError for a field that it
    cannot convert."""
    if struct not in _codecs:
        # Registered before it is checked, since a struct may contain itself.
        _codecs[struct] = codec = Codec(struct)
        try:
            codec.check()
        except DeclarationError:
            del _codecs[struct]
            raise
    return _codecs[struct]


def record_converter(declared: Any) -> Converter:
    """Converts a nested struct, dataclass or NamedTuple to a map and back. The map of a struct with a tag has the tag,
    too."""
    codec = codec_of(declared)
    codec.reject_type_variables()
    codec.reject_set_by_sessions()
    struct, tag = codec.struct, tag_of(declared)

    def encode(value: Any) -> Value:
        # A derived class is rejected too: its additional fields would be lost.
        if type(value) is not struct:
            raise EncodeError(f"expected {struct.__name__}, got {type(value).__name__} {shown(value)}")
        return {"M": codec.encode(value)}

    def read(row: Row) -> Any:
        made = struct(**codec.decode(row, True))
        codec.keep_extra(made, row, codec.attributes)
        return made

    return Converter(encode, lambda value: read(value["M"]), "M", read) if tag is None else _tagged(tag, encode, read)


def _tagged(tag: Tag, encode: Callable[[Any], Value], read: Callable[[Row], Any]) -> Converter:
    def encode_tagged(value: Any) -> Value:
        return {"M": {tag.attribute: tag.value, **encode(value)["M"]}}

    def read_tagged(row: Row) -> Any:
        # A map without the tag is older than the tag.
        found = row.get(tag.attribute)
        if found is None:
            other_forms.count += 1
        elif found != tag.value:
            raise DecodeError(f"{tag.attribute} is {found!r}, not {tag.value!r}")
        return read({name: value for name, value in row.items() if name != tag.attribute})

    return Converter(encode_tagged, lambda value: read_tagged(value["M"]), "M", read_tagged)

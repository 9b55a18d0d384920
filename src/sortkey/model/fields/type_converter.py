"""The converter of any type that a field can have.

    single values (`converter.py`) · Enum, Literal as their values · structs, items, dataclasses, NamedTuples M
    list[X], tuple[X, …], tuple[X, Y] L · dict[str, X], dict[Enum, X], TypedDict M · set, frozenset SS, NS or BS
    types with a codec of the program's own, as what they are stored as (`stored_as.py`) · Any, as the value is

None inside a list or map is NULL. So is an empty set, which DynamoDB does not have.

A stored value must say which member of a union it is: by its attribute type, or, of several structs, by their tags,
which are msgspec's (`class Circle(msgspec.Struct, tag=True)`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from types import UnionType
from typing import Annotated, Any, Final, Literal, NamedTuple, Union, get_args, get_origin, is_typeddict

from sortkey.model.errors import DeclarationError, DecodeError, EncodeError, shown, type_name
from sortkey.model.fields.annotation import Annotation, Epoch, parse_annotation
from sortkey.model.fields.attribute_values import comparable
from sortkey.model.fields.constraints import Check, constraint_check
from sortkey.model.fields.converter import (
    EPOCH,
    INEXACT,
    SCALARS,
    Converter,
    Value,
    content_converter,
    encode_float,
    encode_floats,
    other_form,
    set_content,
    wrong_type,
)
from sortkey.model.fields.real_types import RealTypes
from sortkey.model.fields.records import Tag, is_record, record_class, tag_of
from sortkey.model.fields.stored_as import StoredAs, StoredType
from sortkey.model.fields.stored_forms import other_forms
from sortkey.model.fields.typed_dicts import typed_dict_converter
from sortkey.model.fields.untyped_values import untyped_converter

ConverterOf = Callable[[Any], Converter]
"""The converter of an annotation."""


def is_set(annotation: Annotation) -> bool:
    return get_origin(annotation.base) in (set, frozenset)


def _list(arguments: tuple[Any, ...], of: ConverterOf) -> Converter:
    encode_one, decode_one = of(arguments[0])[:2]

    def encode(values: Any) -> Value:
        if not isinstance(values, list):
            raise wrong_type("list", values)
        if encode_one is encode_float:
            return encode_floats(values)
        return {"L": [encode_one(value) for value in values]}

    return content_converter(encode, "L", lambda content: [decode_one(each) for each in content])


def _tuple(arguments: tuple[Any, ...], of: ConverterOf) -> Converter:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return _tuple_of_any_length(arguments[0], of)
    members = [of(argument)[:2] for argument in arguments]
    wanted = f"tuple with {len(members)} elements"

    def encode(values: Any) -> Value:
        if not isinstance(values, tuple) or len(values) != len(members):
            raise wrong_type(wanted, values)
        return {"L": [encode_one(value) for (encode_one, _), value in zip(members, values, strict=True)]}

    def read(content: Any) -> tuple[Any, ...]:
        if len(content) != len(members):
            raise ValueError(f"expected {len(members)} elements, found {len(content)}")
        return tuple(decode_one(each) for (_, decode_one), each in zip(members, content, strict=True))

    return content_converter(encode, "L", read)


def _tuple_of_any_length(argument: Any, of: ConverterOf) -> Converter:
    encode_one, decode_one = of(argument)[:2]

    def encode(values: Any) -> Value:
        if not isinstance(values, tuple):
            raise wrong_type("tuple", values)
        if encode_one is encode_float:
            return encode_floats(list(values))
        return {"L": [encode_one(value) for value in values]}

    return content_converter(encode, "L", lambda content: tuple(decode_one(each) for each in content))


def dict_keys(argument: Any) -> dict[Any, str] | None:
    """The names of a dict's keys, which are the members of an Enum or a Literal; None for str. Raises DeclarationError
    for other keys."""
    base = parse_annotation(argument).base
    if base is str:
        return None
    if isinstance(base, type) and issubclass(base, Enum):
        found = {member: member.value for member in base}
    else:
        found = {value: value for value in get_args(base)} if get_origin(base) is Literal else {}
    if not found or not all(isinstance(text, str) and text for text in found.values()):
        raise DeclarationError(f"the keys of a dict must be str, or an Enum or a Literal of texts, not {argument}")
    return {key: str.__str__(text) for key, text in found.items()}


def _map(arguments: tuple[Any, ...], of: ConverterOf) -> Converter:
    names = dict_keys(arguments[0])
    encode_one, decode_one = of(arguments[1])[:2]
    if names is not None:
        return _map_of_choices(names, encode_one, decode_one)

    def encode(values: Any) -> Value:
        if not isinstance(values, dict) or not all(isinstance(name, str) for name in values):
            raise wrong_type("dict with keys of type str", values)
        return {"M": {name: encode_one(value) for name, value in values.items()}}

    return content_converter(encode, "M", lambda content: {name: decode_one(each) for name, each in content.items()})


def _map_of_choices(
    names: dict[Any, str], encode_one: Callable[[Any], Value], decode_one: Callable[[Value], Any]
) -> Converter:
    keys = _Choices({text: key for key, text in names.items()})

    def name_of(key: Any) -> str:
        try:
            return names[key]
        except (KeyError, TypeError):
            raise wrong_type(f"one of the keys {', '.join(map(repr, names))}", key) from None

    def encode(values: Any) -> Value:
        if not isinstance(values, dict):
            raise wrong_type("dict", values)
        return {"M": {name_of(key): encode_one(value) for key, value in values.items()}}

    return content_converter(
        encode, "M", lambda content: {keys[name]: decode_one(each) for name, each in content.items()}
    )


def _set(arguments: tuple[Any, ...], of: ConverterOf, *, make: type) -> Converter:
    member = parse_annotation(arguments[0])
    encode_one, _, inner, read_one = of(arguments[0])[:4]
    if member.optional or inner not in ("S", "N", "B"):
        raise DeclarationError(f"a set has strings, numbers or binaries, not {arguments[0]}")
    tag = f"{inner}S"

    def encode(values: Any) -> Value:
        if not isinstance(values, set | frozenset):
            raise wrong_type("set", values)
        return {tag: set_content((encode_one(value)[inner] for value in values), inner)} if values else {"NULL": True}

    def collect(content: Any) -> Any:
        return make(content if read_one is None else map(read_one, content))

    return Converter(encode, lambda value: make() if "NULL" in value else collect(value[tag]), tag, collect)


def _mutable_set(arguments: tuple[Any, ...], of: ConverterOf) -> Converter:
    return _set(arguments, of, make=set)


def _frozen_set(arguments: tuple[Any, ...], of: ConverterOf) -> Converter:
    return _set(arguments, of, make=frozenset)


CONTAINERS: Final[dict[Any, Callable[[tuple[Any, ...], ConverterOf], Converter]]] = {
    list: _list,
    tuple: _tuple,
    dict: _map,
    set: _mutable_set,
    frozenset: _frozen_set,
}


_SETS: Final = frozenset({"SS", "NS", "BS"})


class UnionMember(NamedTuple):
    base: Any
    converter: Converter

    @property
    def name(self) -> str:
        return getattr(self.base, "__name__", str(self.base))

    @property
    def tag(self) -> Tag | None:
        return tag_of(self.base) if is_record(self.base) else None

    @property
    def cls(self) -> Any:
        return record_class(self.base)


def union_converter(members: Sequence[UnionMember]) -> Converter:
    by_type: dict[str, list[UnionMember]] = {}
    for member in members:
        if member.converter.also:
            raise DeclarationError(f"{member.name} cannot be in a union: it has several forms")
        if member.converter.tag in _SETS:
            raise DeclarationError(f"{member.name} cannot be in a union: an empty set is stored as NULL")
        if not member.converter.tag:
            raise DeclarationError(f"{member.name} cannot be in a union: it can hold what the others are stored as")
        by_type.setdefault(member.converter.tag, []).append(member)
    converters = {tag: _same_type(tag, found) for tag, found in by_type.items()}
    if len(converters) == 1:
        (converter,) = converters.values()
        return converter
    return _by_attribute_type(" or ".join(member.name for member in members), converters)


def _by_attribute_type(names: str, converters: dict[str, Converter]) -> Converter:
    def encode(value: Any) -> Value:
        reasons = []
        for converter in converters.values():
            try:
                return converter.encode(value)
            except EncodeError as error:
                reasons.append(str(error))
        raise EncodeError(f"expected {names}, got {type(value).__name__} {shown(value)} ({'; '.join(reasons)})")

    def decode(value: Value) -> Any:
        for tag in value:
            if tag in converters:
                return converters[tag].decode(value)
        raise DecodeError(f"expected {' or '.join(converters)}")

    return Converter(encode, decode, "", decode)


def _same_type(tag: str, members: list[UnionMember]) -> Converter:
    """The converter of the members with one attribute type."""
    if len(members) == 1:
        return members[0].converter
    names = " and ".join(member.name for member in members)
    tags = [member.tag for member in members]
    if None in tags:
        raise DeclarationError(
            f"{names} are all stored as {tag}, so a row would not say which it is; "
            f"declare one of them, or structs with tags: class A(msgspec.Struct, tag=True)"
        )
    if len({each.attribute for each in tags if each is not None}) > 1 or len(set(tags)) < len(tags):
        raise DeclarationError(f"{names} must have different tags in one tag_field")
    return _by_tag(names, {each: member for each, member in zip(tags, members, strict=True) if each is not None})


def _by_tag(names: str, members: dict[Tag, UnionMember]) -> Converter:
    attribute = next(iter(members)).attribute
    of_class = {member.cls: member.converter.encode for member in members.values()}
    of_tag = {_identity(tag.value): member.converter.read for tag, member in members.items()}

    def encode(value: Any) -> Value:
        made = of_class.get(type(value))
        if made is None:
            raise wrong_type(names.replace(" and ", " or "), value)
        return made(value)

    def read(row: dict[str, Value]) -> Any:
        found = row.get(attribute)
        reader = None if found is None else of_tag.get(_identity(found))
        if reader is None:
            raise DecodeError(f"{attribute} is {found!r}, not that of {names.replace(' and ', ' or ')}")
        return reader(row)

    return Converter(encode, lambda value: read(value["M"]), "M", read)


def _identity(value: Value) -> tuple[str, Any]:
    ((tag, content),) = value.items()
    return tag, content


RecordConverter = Callable[[Any], Converter]
"""Makes the converter of a nested struct, dataclass or NamedTuple; the codec passes its own."""


def converter(annotation: Any, nested: RecordConverter) -> Converter:
    """The converter of an annotation; None is NULL if the type allows it."""
    parsed = parse_annotation(annotation)
    made = _constrained(base_converter(parsed, nested), parsed)
    if parsed.optional:
        return _nullable(made)
    return made


def base_converter(annotation: Annotation, nested: RecordConverter) -> Converter:
    """The converter of a type without None."""
    base, origin = annotation.base, get_origin(annotation.base)
    if base is float:
        if annotation.inexact:
            return INEXACT
        raise DeclarationError(
            "float cannot hold DynamoDB's decimal numbers exactly; use Decimal, or Annotated[float, sk.inexact]"
        )
    if annotation.epoch:
        if base is not RealTypes.datetime:
            raise DeclarationError(f"only a datetime can be stored as seconds since 1970, not {base}")
        return EPOCH
    if isinstance(base, StoredType):
        return _stored_converter(base, nested)
    if base in SCALARS:
        return SCALARS[base]
    if base is Any:
        return untyped_converter(annotation.inexact)
    if origin is Literal:
        return _choice_converter({value: value for value in get_args(base)}, nested)
    if isinstance(base, type) and issubclass(base, Enum):
        return _choice_converter({member: member.value for member in base}, nested)
    if is_record(base):
        return nested(base)
    if is_typeddict(record_class(base)):
        return typed_dict_converter(base, lambda inner: converter(inner, nested))
    if origin in CONTAINERS:
        return CONTAINERS[origin](get_args(base), lambda inner: converter(inner, nested))
    if origin in (Union, UnionType):
        members = [UnionMember(parse_annotation(each).base, converter(each, nested)) for each in _members(base)]
        return union_converter(members)
    raise DeclarationError(
        f"{type_name(base)} is not a type that an item can hold; sk.stored_as stores it as one that is"
    )


def _members(union: Any) -> Iterator[Any]:
    """The members of a union, with those of unions that have a name."""
    for member in get_args(union):
        parsed = parse_annotation(member)
        if parsed.optional and parsed.base is not Any:
            raise DeclarationError(f"{member} allows None; write None as a member of the union itself")
        if get_origin(parsed.base) in (Union, UnionType):
            yield from _members(parsed.base)
        else:
            yield member


def _constrained(made: Converter, annotation: Annotation) -> Converter:
    check = constraint_check(annotation.declared, annotation.constraints)
    return made if check is None else made._replace(encode=checked(check, made.encode))


def checked(check: Check, encode: Callable[[Any], Value]) -> Callable[[Any], Value]:
    """The encoder, for values that meet the constraints."""

    def encode_checked(value: Any) -> Value:
        # First the type: a constraint may raise for a value of another one.
        encoded = encode(value)
        check(value)
        return encoded

    return encode_checked


def _nullable(inner: Converter) -> Converter:
    encode, decode = inner[:2]
    return inner._replace(
        encode=lambda value: {"NULL": True} if value is None else encode(value),
        decode=lambda value: None if "NULL" in value else decode(value),
    )


def _stored_converter(base: StoredType, nested: RecordConverter) -> Converter:
    parsed = parse_annotation(base.codec.stored)
    if parsed.optional and base.codec.stored is not Any:
        raise DeclarationError(f"{base.codec!r}: None has no codec; make the field optional instead")
    if is_set(parsed):
        raise DeclarationError(f"{base.codec!r}: an empty set would be stored as NULL; store a list")
    made = _form_converter(base, nested)
    if not base.codec.also:
        return made
    others = [_other_form(base, form, nested) for form in base.codec.also]
    return _several_forms(base, made, others)


def _form_converter(base: StoredType, nested: RecordConverter) -> Converter:
    """The converter of a codec's first form."""
    inner = converter(base.codec.stored, nested)
    if inner.also:
        raise DeclarationError(f"{base.codec!r}: name all forms in one also=")
    encode_inner, decode_inner, tag, read_inner = inner[:4]

    def encode(value: Any) -> Value:
        return encode_inner(base.encode(value))

    if base.codec.is_strict:

        def read(content: Any) -> Any:
            return base.decode(content if read_inner is None else read_inner(content))

        return Converter(encode, lambda value: base.decode(decode_inner(value)), tag, read)

    def decode(stored: Value) -> Any:
        value = base.decode(decode_inner(stored))
        try:
            again = encode(value)
        except EncodeError as error:
            raise ValueError(f"{stored!r} is shown as {value!r}, which cannot be stored: {error}") from None
        if again == stored or comparable(again) == comparable(stored):
            return value
        return other_form(value, stored, f"{again!r}", "sk.stored_as(…, also=…)")

    return Converter(encode, decode, tag, decode if not tag else lambda content: decode({tag: content}))


def _other_form(base: StoredType, form: Any, nested: RecordConverter) -> Converter:
    """The converter of one of the forms in `also`: a mark on the declared type, or a type that has its values."""
    is_mark = isinstance(form, StoredAs | Epoch)
    made = converter(Annotated[base.declared, form] if is_mark else form, nested)
    if made.also:
        raise DeclarationError(f"{base.codec!r}: name all forms in one also=")
    return made


def _several_forms(base: StoredType, first: Converter, others: list[Converter]) -> Converter:
    forms = [first, *others]
    tags = {form.tag for form in forms}
    if "" in tags:
        raise DeclarationError(f"{base.codec!r}: each form of also= has one attribute type")

    def decode(stored: Value) -> Any:
        reasons = []
        for form in forms:
            if form.tag in stored:
                try:
                    value = form.decode(stored)
                except (ValueError, KeyError, TypeError) as error:
                    reasons.append(str(error))
                else:
                    other_forms.count += form is not first
                    return value
        raise ValueError("; ".join(reasons) or f"expected {' or '.join(sorted(tags))}, found {stored!r}")

    def exact(form: Converter) -> Callable[[Any], Value | None]:
        def encode(value: Any) -> Value | None:
            try:
                made = form.encode(value)
            except EncodeError:
                return None
            # Another form may not hold the value, as seconds do not hold half of one.
            return made if first.encode(form.decode(made)) == first.encode(value) else None

        return encode

    return Converter(first.encode, decode, "", decode, tuple(map(exact, others)))


def _choice_converter(values: dict[Any, Any], nested: RecordConverter) -> Converter:
    types = {type(value) for value in values.values()}
    if len(types) != 1:
        raise DeclarationError(f"{', '.join(map(repr, values))} are not of one type")
    inner = base_converter(Annotation(types.pop(), optional=False, inexact=False), nested)
    encoded = {choice: inner.encode(value) for choice, value in values.items()}
    choices = _Choices({value: choice for choice, value in values.items()})

    def encode(value: Any) -> Value:
        try:
            # A copy, since the caller may change it.
            return encoded[value].copy()
        except (KeyError, TypeError):
            raise wrong_type(f"one of {', '.join(map(repr, encoded))}", value) from None

    return content_converter(encode, inner.tag, _choice_reader(inner.read, choices))


class _Choices(dict[Any, Any]):
    """From stored values to the members of an Enum or a Literal."""

    def __missing__(self, value: Any) -> Any:
        raise ValueError(f"{value!r} is none of {', '.join(map(repr, self))}")


def _choice_reader(read_value: Callable[[Any], Any] | None, choices: dict[Any, Any]) -> Callable[[Any], Any]:
    if read_value is None:
        return choices.__getitem__
    return lambda content: choices[read_value(content)]

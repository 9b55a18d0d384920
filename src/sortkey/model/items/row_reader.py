"""Reads a class's rows from their JSON in C: the fast path for rows that match the declaration.

msgspec decodes a row to a struct with the class's attributes and keys, each of its declared type, without a dict for
each attribute value. A generated function, like the `__init__` of `dataclasses`, makes the item from the struct.

    {"store": {"S": "12345"}, "amount": {"N": "12.5"}, "pk": …}    text
    row.c0.content, row.c1.content, row.partition.content          struct
    Price(store=row.c0.content, amount=row.c1.content)             item

A row that differs (an undeclared attribute, a missing one, another type, an older version, an attribute that disagrees
with the key) raises one of `NEEDS_CODEC`: then the codec reads it, and words any error.

The key says which row an item is: an attribute with another value, which another program wrote, would make `item.key`
name another row. So the reader takes a row only if both agree, and leaves others to the codec, where the key decides.

Most fields are compared as text, without decoding the key or encoding the field: the sort key is `"P#" +` the content
of the attribute. Where this says no, the key is parsed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from decimal import Decimal
from functools import cache, cached_property, lru_cache, partial
from operator import attrgetter
from threading import Lock
from types import GenericAlias
from typing import Annotated, Any, Final, Generic, NamedTuple, NoReturn, TypeVar
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from sortkey.model.fields.codec import Codec, Field, Row
from sortkey.model.fields.converter import Value, read_float, read_instant, read_uuid
from sortkey.model.fields.generated_function import generate_function, generate_list_function
from sortkey.model.fields.key_text import ABOVE_SEPARATOR
from sortkey.model.fields.real_types import RealTypes
from sortkey.model.fields.records import declared_default
from sortkey.model.fields.type_converter import is_set
from sortkey.model.keys.key_attribute import Expression, KeyAttribute
from sortkey.model.keys.key_layout import CACHED_PARTITIONS, KeyLayout
from sortkey.model.keys.template import Template


class KeyField(NamedTuple):
    """A field of the key that is also an attribute: the expressions of its content, and of its value."""

    content: str
    value: str
    is_text: bool
    """Whether the content is a str."""


def agreement(
    part: KeyAttribute,
    content: str,
    fields: Mapping[str, KeyField],
    suffix: str,
    *,
    form_after: int | None = None,
    plain: bool = False,
) -> Expression | None:
    """The test that a key attribute, whose content is the expression `content`, agrees with these fields; None if there
    is nothing to test. With `form_after`, that it has the form of the class after so many fields, too, which is known
    otherwise. `plain` if it is known that the key has no escaped character. The names end with the suffix."""
    own = {name: fields[name] for name in part.held if name in fields and fields[name].content != content}
    if not own and (form_after is None or part.template is None or part.held):
        # Fields that only the key holds are read from it, which tests its form.
        return None
    values = ", ".join(field.value for field in own.values())
    parsed = f"agrees{suffix}({content}, ({values}{',' * bool(own)}))"
    names: dict[str, Any] = {f"agrees{suffix}": _parsing_test(part, tuple(own))}
    is_text = part.sharding is None and len(own) == len(part.held)
    quick = _as_text(part, content, own, suffix, form_after, plain) if is_text else None
    if quick is None:
        return Expression(parsed, names)
    return Expression(f"({quick.source} or {parsed})", names | quick.names)


def _as_text(
    part: KeyAttribute,
    content: str,
    fields: Mapping[str, KeyField],
    suffix: str,
    form_after: int | None,
    plain: bool,
) -> Expression:
    """The test on texts, which is true only if both agree."""
    if part.template is None:
        # A number has several texts.
        (field,) = fields.values()
        return Expression(f"{content} == {field.content}", {})
    text, names = _text(part.template, fields, suffix)
    tests = [f"{text} == {content}"]
    if not plain:
        tests.append(f"{ABOVE_SEPARATOR!r} not in {content}")
    if form_after is not None:
        open_fields = [fields[each.field] for each in part.template.parts[form_after:] if each.encoding.of_content]
        alnum = " and ".join(f"{field.content}.isalnum()" for field in open_fields if field.is_text)
        if alnum:
            # Most values are letters and digits, which need no escape; this is the cheapest test.
            tests.append(f"({alnum} or matches{suffix}({content}))")
            names[f"matches{suffix}"] = part.template.matches
    return Expression(" and ".join(tests), names)


def _text(template: Template, fields: Mapping[str, KeyField], suffix: str) -> Expression:
    """The text of a key without escapes."""
    pieces: list[tuple[str, str]] = []
    names: dict[str, Any] = {}
    for index, part in enumerate(template.parts):
        field, encoder = fields[part.field], f"encode{suffix}_{index}"
        if part.encoding.of_content:
            pieces.append((part.encoding.of_content.replace("{0}", field.content), part.follower))
        else:
            pieces.append((f"{encoder}({field.value})", part.follower))
            names[encoder] = part.encoding.encode
    return Expression(_joined(template.literals[0], pieces), names)


def _joined(first: str, pieces: Sequence[tuple[str, str]]) -> str:
    """The expression of a text: expressions, each with the literal after it."""
    literals = [first, *(literal for _, literal in pieces)]
    if all(map(_is_literal, literals)) and not any("'" in expression for expression, _ in pieces):
        # Takes half of the time of a sum.
        return f"f'{first}{''.join(f'{{{expression}}}{literal}' for expression, literal in pieces)}'"
    texts = [repr(first), *(text for expression, literal in pieces for text in (expression, repr(literal)))]
    return " + ".join(text for text in texts if text != repr(""))


_is_literal: Final = re.compile(r"[A-Za-z0-9#:/|@_ .+-]*").fullmatch
"""Whether a literal is the same in the source of an f-string."""


def _parsing_test(part: KeyAttribute, names: tuple[str, ...]) -> Callable[[Any, tuple[Any, ...]], bool]:
    def agrees(content: Any, values: tuple[Any, ...]) -> bool:
        held = part.parse({part.tag: content})
        return held is not None and all(held[name] == value for name, value in zip(names, values, strict=True))

    return agrees


def reject_disagreement() -> NoReturn:
    """Leaves the row to the codec."""
    raise ValueError("an attribute disagrees with the primary key")


T = TypeVar("T", bound=msgspec.Struct)

_CONTENT: Final = re.compile(r"row\.\w+\.content")

NEEDS_CODEC: Final = (AttributeError, KeyError, TypeError, ValueError)
"""Raised for a row that the codec has to read; includes msgspec's ValidationError."""

CACHED_SORT_KEYS: Final = 4096
"""Of a class, if fields of it are stored in its sort key only."""

_CONTENTS: Final[dict[str, Any]] = {
    "S": str,
    "N": str,
    "B": bytes,
    "BOOL": bool,
    "SS": list[str],
    "NS": list[str],
    "BS": list[bytes],
    "L": list[Any],
    "M": dict[str, Any],
}
_READ_IN_C: Final = {("N", Decimal): Decimal, ("S", RealTypes.date): RealTypes.date}
"""Types that msgspec reads as the codec does. It takes datetimes and UUIDs in several forms."""

_SEVERAL_FORMS: Final = frozenset({"", "L", "M"})
"""The tags of columns whose values may be stored in several forms: a field with `also=`, and what has maps."""

_CONSTANTS: Final = frozenset({str, bytes, bool, Decimal, UUID, RealTypes.date})
"""Immutable types, whose defaults all rows can share."""


_DECODER_LOCK: Final = Lock()
"""Readers share structs, and msgspec crashes if two threads make decoders of the same struct."""


class Column(NamedTuple):
    """A field of the row struct."""

    name: str
    attribute: str
    tag: str
    """Empty if values have several types; then the field is the whole attribute value, as in JSON."""
    value_type: Any
    required: bool
    read: Callable[[Any], Any] | None = None
    """Converts the content; None if it is the value."""
    default: Any = UNSET
    """Stands for an absent attribute."""
    is_text: bool = False
    """Whether the content is a str."""
    null_type: Any = None
    """The `value_type` of rows that have NULL for what would not be stored; None if NULL is stored, or not taken."""

    @property
    def with_null(self) -> Column:
        if self.null_type is None:
            return self
        default = self.default if self.default is UNSET else self.null_type()
        return self._replace(value_type=self.null_type, default=default)

    @property
    def definition(self) -> tuple[Any, ...]:
        if self.required:
            return self.name, self.value_type
        return self.name, self.value_type | UnsetType if self.default is UNSET else self.value_type, self.default


class Part(NamedTuple):
    """The rows of an index that does not project whole items, or of which some attributes were read."""

    owner: type[msgspec.Struct]
    """The class of the partial items."""
    attributes: frozenset[str]
    """Those that the rows may have."""
    shown: frozenset[str]
    """The fields of the items; others are UNSET."""
    layout: KeyLayout | None = None
    """The index, whose keys tell the fields that have no attribute in the rows; None if only the primary key does."""


class Decoders(NamedTuple):
    row: Callable[[bytes], Any]
    rows: Callable[[bytes], list[Any]]


def _decoders(owner: type[msgspec.Struct], columns: Iterable[Column]) -> Decoders:
    definitions, renamed = [], {}
    for column in columns:
        definitions.append(column.definition)
        renamed[column.name] = column.attribute
    row = msgspec.defstruct(
        f"{owner.__name__}Row", definitions, rename=renamed, forbid_unknown_fields=True, kw_only=True, gc=False
    )
    with _DECODER_LOCK:
        return Decoders(msgspec.json.Decoder(row).decode, msgspec.json.Decoder(GenericAlias(list, (row,))).decode)


class RowReader(Generic[T]):
    """Reads the rows of one class."""

    def __init__(
        self,
        owner: type[T],
        codec: Codec,
        primary: KeyLayout,
        keys: Mapping[str, KeyAttribute],
        constants: Mapping[str, Value],
        sources: Mapping[str, Sequence[KeyAttribute]],
        part: Part | None = None,
    ) -> None:
        """`constants` are attributes with a number or a text that every row must have; `sources`, the index keys that
        hold `in_key` fields. With `part`, the items are partial."""
        columns = {
            column.attribute: column
            for column in (*_fields(codec, primary, keys), *_keys(codec, primary, keys), *_constants(constants))
            if part is None or column.attribute in part.attributes
        }
        self.row, self.rows = _decoders(owner, columns.values())
        """Decode one row to a struct, and a list of rows. The primary key is `partition` and `sort`."""
        self._row_with_null = partial(_decoders, owner, [column.with_null for column in columns.values()])
        if part is None:
            source = _ItemSource(owner, owner, codec, columns, primary, _held(codec, columns, primary, sources))
        else:
            source = _part_source(owner, codec, columns, primary, part)
        made, names = source.item()
        self.item: Callable[[Any], T] = generate_function(("row",), made, names)
        """Makes the item of a struct whose key has the form of the class."""
        self._items: dict[bool, Callable[[list[Any]], list[T]]] = {
            plain: generate_list_function((), *source.item(plain)) for plain in (True, False)
        }
        self._source = source
        self._checks: dict[bool, Callable[[list[Any]], object]] = {}
        self._partitions: dict[tuple[int, bool], tuple[Callable[[Any], tuple[Any, ...]], Callable[..., list[T]]]] = {}
        self.nested = any(column.tag in ("L", "M", "") for column in columns.values())
        """Whether there are lists or maps, whose elements stay as in JSON."""
        self._forms = [
            (column.name, column.attribute, column.tag)
            for column in columns.values()
            if column.null_type is not None or column.tag in _SEVERAL_FORMS
        ]
        self.may_be_null = any(column.null_type is not None for column in columns.values())
        """Whether NULL may be stored for what is not stored otherwise. `row` and `rows` do not take it."""
        self.counts_forms = any(tag in _SEVERAL_FORMS for _, _, tag in self._forms)
        """Whether a value may be stored in another form than it is written in; reading such a value counts."""
        self._keys = [columns[name] for name in keys if name in columns]
        self._key_columns = [(column.name, column.attribute, column.tag) for column in self._keys]

    @cached_property
    def with_null(self) -> Decoders:
        """The same as `row` and `rows`, for rows with NULL in attributes that would not be written."""
        return self._row_with_null()

    def contents(self, attribute: str) -> Callable[[Any], Any]:
        """A function from a struct to the content of a key attribute that it has."""
        (column,) = (column for column in self._keys if column.attribute == attribute)
        return attrgetter(f"{column.name}.content")

    def items(self, rows: list[Any], text: bytes) -> list[T]:
        """Makes the items of structs whose keys have the form of the class, and which were decoded from this text."""
        return self._items[_is_plain(text)](rows)

    def check(self, rows: list[Any], text: bytes) -> None:
        """Raises what `items` raises."""
        plain = _is_plain(text)
        if plain not in self._checks:
            self._checks[plain] = generate_list_function((), *self._source.check(plain))
        self._checks[plain](rows)

    def partition_items(self, rows: list[Any], text: bytes, given: int = 0) -> list[T]:
        """Makes the items of structs of one partition; raises a ValueError if the sort key of one has another form.
        Their first `given` fields of the sort key are known to have it."""
        if not rows:
            return []
        kind = given, _is_plain(text)
        if kind not in self._partitions:
            self._partitions[kind] = self._source.partition_functions(*kind)
        fields_of, items = self._partitions[kind]
        return items(rows, *fields_of(rows[0]))

    def in_other_forms(self, row: Any) -> Row:
        """The attributes of a struct that may be stored in another form than its item is written in."""
        found: Row = {}
        for name, attribute, tag in self._forms:
            value = getattr(row, name)
            if value is UNSET:
                continue
            if not tag:
                found[attribute] = value
            elif value.content is None:
                if getattr(value, "NULL", False):
                    found[attribute] = {"NULL": True}
            elif tag in _SEVERAL_FORMS:
                found[attribute] = {tag: value.content}
        return found

    def key_attributes(self, row: Any) -> Row:
        """The key attributes of a struct, in boto3 shape."""
        found: Row = {}
        for name, attribute, tag in self._key_columns:
            # One of part of a row may not have all keys.
            value = getattr(row, name, UNSET)
            if value is not UNSET:
                found[attribute] = {tag: value.content}
        return found


def _is_plain(text: bytes) -> bool:
    """Whether no key in this JSON text has an escaped character. To look once takes less than to look at each key."""
    return b"$" not in text and b"\\" not in text


def _halves(primary: KeyLayout) -> dict[str, str]:
    return dict(zip((part.name for part in primary.attributes), ("partition", "sort"), strict=False))


def _fields(codec: Codec, primary: KeyLayout, keys: Mapping[str, KeyAttribute]) -> Iterator[Column]:
    halves = _halves(primary)
    for index, field in enumerate(codec.fields):
        if field.annotation.in_key:
            continue
        # The key says what a field of it is, not the default.
        required = field.name in primary.fields or (field.absent is None and field.name in codec.required)
        if not field.tag:
            yield Column(f"c{index}", field.attribute, "", dict[str, Any], required, field.decode)
            continue
        # Keys are compared, and returned as they were stored.
        a_key = field.attribute in keys
        in_c = None if a_key else _READ_IN_C.get((field.tag, field.annotation.base))
        content = in_c or _CONTENTS[field.tag]
        null_type = _attribute_value_type(field.tag, content, True) if field.left_out else None
        value_type = _attribute_value_type(field.tag, content, field.nullable, field.left_out)
        read = field.read if in_c is None else None
        yield Column(
            halves.get(field.attribute, f"c{index}"),
            field.attribute,
            field.tag,
            value_type,
            required,
            read,
            UNSET if a_key else _default(codec, field, value_type, read),
            in_c is None and _CONTENTS[field.tag] is str,
            null_type,
        )


def _default(codec: Codec, field: Field, value_type: Any, read: Callable[[Any], Any] | None) -> Any:
    """An attribute value whose content is the field's default, so that the item needs no test for absence; UNSET if
    there is no such content."""
    default = None if field.absent is not None else declared_default(codec.struct, field.name)
    if default is None and (field.annotation.optional or is_set(field.annotation)):
        return value_type()
    return value_type(default) if read is None and type(default) in _CONSTANTS else UNSET


def _keys(codec: Codec, primary: KeyLayout, keys: Mapping[str, KeyAttribute]) -> Iterator[Column]:
    halves = _halves(primary)
    for index, (attribute, key) in enumerate(keys.items()):
        if attribute not in codec.attributes:
            value_type = _attribute_value_type(key.tag, _CONTENTS[key.tag], False)
            yield Column(halves.get(attribute, f"k{index}"), attribute, key.tag, value_type, attribute in halves)


def _constants(constants: Mapping[str, Value]) -> Iterator[Column]:
    for index, (attribute, value) in enumerate(constants.items()):
        ((tag, wanted),) = value.items()
        content = Annotated[str, Meta(pattern=rf"\A{re.escape(wanted)}\Z")]
        yield Column(f"n{index}", attribute, tag, _attribute_value_type(tag, content, False), required=True)


@cache
def _attribute_value_type(tag: str, content: Any, nullable: bool, left_out: bool = False) -> Any:
    """The struct of an attribute value with this tag; its `content` is None for NULL, if it is nullable. If that is
    left out, it stands only for an absent attribute."""
    fields: list[Any] = [("content", content)]
    if nullable:
        fields = [("content", content | None, None), *([] if left_out else [("NULL", bool, False)])]
    return msgspec.defstruct(tag, fields, rename={"content": tag}, forbid_unknown_fields=True, frozen=True, gc=False)


def _held(
    codec: Codec, columns: Mapping[str, Column], primary: KeyLayout, sources: Mapping[str, Sequence[KeyAttribute]]
) -> dict[str, Expression]:
    """The expressions of the `in_key` fields."""
    found = _key_expressions(primary, codec.in_key)
    parsers: dict[str, Any] = {}
    for field, parts in sources.items():
        names: dict[str, Any] = {}
        values = []
        for part in parts:
            column = columns[part.name].name
            parse = parsers.setdefault(part.name, lru_cache(CACHED_PARTITIONS)(_key_parser(part)))
            names[f"parsed_{column}"] = parse
            values.append(f"parsed_{column}(row.{column}.content)[{field!r}]")
        (first, *others), key = values, columns[parts[0].name].name
        source = first if not others else f"same({', '.join(values)})"
        if others:
            names["same"] = _only_value
        if codec.by_name[field].annotation.optional and codec.if_absent(field) is None and not others:
            source = f"(None if row.{key} is UNSET else {source})"
        found[field] = Expression(source, names)
    return found


def _only_value(first: Any, *others: Any) -> Any:
    """The value that several keys have. Leaves the row to the codec if they do not agree."""
    if any(other != first for other in others):
        reject_disagreement()
    return first


def _key_expressions(primary: KeyLayout, fields: Set[str]) -> dict[str, Expression]:
    """The expressions of the fields among these that the primary key holds."""
    found: dict[str, Expression] = {}
    for part, half in zip(primary.attributes, _halves(primary).values(), strict=True):
        # Rows of one partition are usually read together. Each field of a sort key asks for all of it; and many
        # partitions often have the same sort keys, such as the products of stores.
        parsed = lru_cache(CACHED_PARTITIONS if half == "partition" else CACHED_SORT_KEYS)(_key_parser(part))
        for name in fields & set(part.held):
            found[name] = Expression(f"parsed_{half}(row.{half}.content)[{name!r}]", {f"parsed_{half}": parsed})
    return found


def _key_parser(part: KeyAttribute) -> Callable[[Any], dict[str, Any] | None]:
    """Parses a key attribute's content to fields; None, which has no fields, makes the codec read the row."""
    return lambda content: part.parse({part.tag: content})


class _ItemSource(NamedTuple):
    """What the functions that make items are generated from."""

    owner: type[msgspec.Struct]
    made: type[msgspec.Struct]
    """The class of the items: the declared one, or that of its partial items."""
    codec: Codec
    columns: Mapping[str, Column]
    primary: KeyLayout
    held: Mapping[str, Expression]
    """The expressions of the fields that are in keys only."""
    gaps: frozenset[str] = frozenset()
    """The fields that partial items do not have."""
    tests: tuple[Expression, ...] = ()
    """What else must be true of a row."""

    def item(self, plain: bool = False) -> Expression:
        """The expression that makes the item of `row`, after testing that the attributes agree with the primary key."""
        made, values = self._untested()
        return _tested(made, self._key_tests(values, plain))

    def check(self, plain: bool) -> Expression:
        """The expression that raises what that of the item raises, and makes none: most values are as msgspec read
        them, and need no look."""
        made, values = self._untested()
        calls = "".join(f"{value}, " for value in values.values() if "(" in value)
        return _tested(Expression(f"({calls})", made.names), self._key_tests(values, plain))

    def _key_tests(self, values: Mapping[str, str], plain: bool) -> list[Expression | None]:
        fields = self._key_fields(values)
        return [
            *(
                agreement(part, f"row.{half}.content", fields, f"_{half}", plain=plain)
                for part, half in zip(self.primary.attributes, ("partition", "sort"), strict=False)
            ),
            *self.tests,
        ]

    def partition_functions(
        self, given: int, plain: bool
    ) -> tuple[Callable[[Any], tuple[Any, ...]], Callable[..., Any]]:
        """For rows of one partition: a function from the first one to the fields of its partition key, which agree with
        it, and a function that makes the items of the rows with these fields, whose sort keys have the form of the
        class.

        What agrees with the partition key in the first row, which has the same in all, is compared with it as it is.
        (To compare it with the key each time took an eighth of a row's time.)
        """
        made, values = self._untested()
        fields, primary = self._key_fields(values), self.primary
        partition = agreement(primary.partition, "row.partition.content", fields, "_partition")
        contents = [fields[name].content for name in primary.partition.held if name in fields] if partition else []
        first = _tested(Expression(f"({''.join(f'{content}, ' for content in contents)})", {}), [partition])
        parameters = [f"partition_{index}" for index in range(len(contents))]
        same = [Expression(f"{content} == {known}", {}) for content, known in zip(contents, parameters, strict=True)]
        sort = None
        if primary.sort is not None:
            sort = agreement(primary.sort, "row.sort.content", fields, "_sort", form_after=given, plain=plain)
        item = _tested(made, [*same, sort, *self.tests])
        return (
            generate_function(("row",), first.source, first.names),
            generate_list_function(parameters, item.source, item.names),
        )

    def _untested(self) -> tuple[Expression, dict[str, str]]:
        """The expression that makes the item of `row`, and those of its fields."""
        names: dict[str, Any] = {"owner": self.made, "UNSET": UNSET}
        for expression in self.held.values():
            names |= expression.names
        values: dict[str, str] = {}
        for index, field in enumerate(self.codec.fields):
            if field.name in self.held:
                values[field.name] = self.held[field.name].source
            elif field.name in self.gaps:
                values[field.name] = "UNSET"
            else:
                column = self.columns[field.attribute]
                values[field.name] = _argument(f"{index}", self.owner, field, column, names)
        return Expression(f"owner({', '.join(f'{name}={value}' for name, value in values.items())})", names), values

    def _key_fields(self, values: Mapping[str, str]) -> dict[str, KeyField]:
        """The fields of the primary key that are attributes, too."""
        names = [name for name in self.primary.fields if name not in self.held]
        columns = {name: self.columns[self.codec.by_name[name].attribute] for name in names}
        return {
            name: KeyField(f"row.{column.name}.content", values[name], column.is_text)
            for name, column in columns.items()
        }


def _part_source(
    owner: type[msgspec.Struct], codec: Codec, columns: Mapping[str, Column], primary: KeyLayout, part: Part
) -> _ItemSource:
    read = {field.name for field in codec.fields if field.attribute in columns and not field.annotation.in_key}
    held = _key_expressions(primary, frozenset(primary.fields) - read)
    tests: list[Expression] = []
    if part.layout is not None and not read.union(held).issuperset(part.layout.fields):
        for key in part.layout.computed:
            column = columns[key.name].name
            names: dict[str, Any] = {f"parsed_{column}": lru_cache(CACHED_SORT_KEYS)(_key_parser(key))}
            parsed = f"parsed_{column}(row.{column}.content)"
            tests.append(Expression(f"{parsed} is not None", names))
            for name in set(key.held).difference(read, held, part.layout.lossy):
                held[name] = Expression(f"{parsed}[{name!r}]", names)
    for index, field in enumerate(codec.fields):
        if field.name in read - part.shown:
            # It is not shown, but a row that has something else in it cannot be read.
            names = {"UNSET": UNSET}
            value = _argument(f"{index}", owner, field, columns[field.attribute], names)
            tests.append(Expression(f"({value},)", names))
    gaps = frozenset(codec.by_name) - held.keys() - (read & part.shown)
    return _ItemSource(owner, part.owner, codec, columns, primary, held, gaps, tuple(tests))


def _tested(made: Expression, tests: Iterable[Expression | None]) -> Expression:
    """The expression if the tests are true; otherwise the row is left to the codec."""
    wanted = [test for test in tests if test is not None]
    if not wanted:
        return made
    names = dict(made.names)
    for test in wanted:
        names |= test.names
    agrees, item = _read_once(" and ".join(test.source for test in wanted), made.source)
    return Expression(f"({item} if {agrees} else reject())", names | {"reject": reject_disagreement})


def _read_once(test: str, made: str) -> tuple[str, str]:
    """The same two expressions, the second of which runs if the first is true, with a variable for each content that
    the test reads: to read it again takes as long as to compare it. No test skips what it reads first, unless it is
    false."""
    for content in dict.fromkeys(_CONTENT.findall(test)):
        variable = content.replace(".", "_")
        before, after = test.split(content, 1)
        test = f"{before}({variable} := {content}){after.replace(content, variable)}"
        made = made.replace(content, variable)
    return test, made


_QUICK: Final[dict[Any, tuple[str, dict[str, Any]]]] = {
    read_float: ("float(content) if len(content := {content}) <= 15 else {read}(content)", {}),
    read_instant: (
        "instant(content) if len(content := {content}) == 27 and content[10] == 'T' and content[26] == 'Z' and "
        "content[19] == '.' and content[5] < '2'"
        + ("" if sys.version_info < (3, 13) else " and content[11:13] != '24'")
        + " else {read}(content)",
        {"instant": RealTypes.datetime.fromisoformat},
    ),
    read_uuid: (
        "uuid(content, UUID) if len(content := {content}) == 36 and content == content.lower() else {read}(content)",
        {"uuid": msgspec.convert, "UUID": UUID},
    ),
}
"""What some readers do with most values, without a call for each."""


def _argument(suffix: str, owner: type[msgspec.Struct], field: Field, column: Column, names: dict[str, Any]) -> str:
    """The expression of a field's value; adds the functions that it calls to `names`."""
    names[f"read{suffix}"] = column.read
    always = column.required or column.default is not UNSET
    content = f"row.{column.name}.content" if always else "value.content"
    if not column.tag:
        made = f"read{suffix}({content.removesuffix('.content')})"
    elif is_set(field.annotation):
        made = f"read{suffix}({content} or ())"
    elif column.read is None:
        made = content
    elif field.annotation.optional and column.read in _QUICK:
        source, functions = _QUICK[column.read]
        quick = source.format(content="optional", read=f"read{suffix}")
        made = f"(None if (optional := {content}) is None else {quick})"
        names |= functions
    elif field.annotation.optional:
        made = f"(None if (content := {content}) is None else read{suffix}(content))"
    elif column.read in _QUICK:
        source, functions = _QUICK[column.read]
        made = f"({source.format(content=content, read=f'read{suffix}')})"
        names |= functions
    else:
        made = f"read{suffix}({content})"
    if always:
        return made
    return f"({_absent(suffix, owner, field, names)} if (value := row.{column.name}) is UNSET else {made})"


def _absent(suffix: str, owner: type[msgspec.Struct], field: Field, names: dict[str, Any]) -> str:
    default = declared_default(owner, field.name)
    factory = field.absent or getattr(default, "factory", None)
    names[f"absent{suffix}"] = default if factory is None else factory
    return f"absent{suffix}" if factory is None else f"absent{suffix}()"

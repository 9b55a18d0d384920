"""A key's template, `"STORE#{store}"`: building, parsing, prefixes and ranges all come from the one text.

A template is literals and fields in turn; `#` cuts it into segments. Since no encoded value holds a `#`, two keys are
equal only if they are so segment by segment, which is how collisions are looked for.

    literals    "YEAR#"   "#MONTH#"    ""
    parts             year        month

A field that does not delimit itself (text, bytes) ends its segment, or else the keys would not sort as its values do.
Only in a partition key, whose order nobody sees, may a literal come after it: `"GAME#{game}-SHARD#{shard}"`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from string import Formatter
from typing import Any, NamedTuple, NoReturn

from sortkey.model.errors import DeclarationError, KeyPartError
from sortkey.model.items.annotation import Annotation
from sortkey.model.items.generated_function import generate_function
from sortkey.model.keys.encoding import ABOVE_SEPARATOR, SEPARATOR, TOP, Encoding, encoding_of


class ReplacementField(NamedTuple):
    field: str
    spec: str


class ParsedTemplate(NamedTuple):
    """A template as written, before its fields have types: one more literal than replacement_fields."""

    text: str
    literals: tuple[str, ...]
    replacement_fields: tuple[ReplacementField, ...]

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(replacement.field for replacement in self.replacement_fields)

    @property
    def single_field(self) -> str | None:
        """The field of a template that is nothing else, `"{field}"`."""
        if len(self.replacement_fields) == 1 and self.literals == ("", "") and not self.replacement_fields[0].spec:
            return self.replacement_fields[0].field
        return None


def parse_template(text: str) -> ParsedTemplate:
    literals, replacement_fields = [""], []
    try:
        for literal, field, spec, conversion in Formatter().parse(text):
            literals[-1] += literal
            if field is None:
                continue
            if not field.isidentifier() or conversion is not None:
                raise DeclarationError(f"{text!r}: {{{field}}} is not the name of a field")
            replacement_fields.append(ReplacementField(field, spec or ""))
            literals.append("")
    except ValueError as error:
        raise DeclarationError(f"{text!r}: {error}") from None
    made = ParsedTemplate(text, tuple(literals), tuple(replacement_fields))
    if not text:
        raise DeclarationError("a key's template is empty")
    if TOP in text:
        raise DeclarationError(f"{text!r}: U+10FFFF is no character, and cannot stand in a key")
    if len(set(made.fields)) < len(replacement_fields):
        raise DeclarationError(f"{text!r} has a field twice")
    return made


class Part(NamedTuple):
    field: str
    encoding: Encoding
    follower: str
    """The literal behind; empty for the last field of a template that ends with it."""


def _encoder(part: Part) -> Callable[[Any], str]:
    """A value's text, or an error that names the field."""
    field, encode = part.field, part.encoding.encode

    def encoded(value: Any) -> str:
        try:
            return encode(value)
        except KeyPartError as error:
            raise KeyPartError(f"{field}: {error}") from None

    return encoded


class KeyRange(NamedTuple):
    low: str
    high: str


class Template:
    """A template whose fields have their encodings."""

    def __init__(self, source: ParsedTemplate, types: Mapping[str, Annotation], *, partition: bool = False) -> None:
        self.text = source.text
        self.fields = source.fields
        self.literals = source.literals
        self.parts = tuple(
            Part(
                replacement.field,
                encoding_of(types[replacement.field], replacement.spec, followed=bool(follower)),
                follower,
            )
            for replacement, follower in zip(source.replacement_fields, source.literals[1:], strict=True)
        )
        self._check(partition)
        encoders = self.encoders()
        variables = self.variables
        self._prefixes = [
            generate_function(variables[:depth], self.source(variables[:depth]), encoders)
            for depth in range(len(variables) + 1)
        ]

    def __repr__(self) -> str:
        return repr(self.text)

    def _check(self, partition: bool) -> None:
        for index, part in enumerate(self.parts):
            last = index == len(self.parts) - 1
            if not part.follower and not last:
                raise DeclarationError(f"{self.text!r}: {{{part.field}}} needs a literal behind it")
            if part.encoding.delimited or not part.follower or part.follower[0] == SEPARATOR:
                continue
            alone = last or SEPARATOR in part.follower
            if not partition or not alone:
                raise DeclarationError(
                    f"{self.text!r}: keys would not sort as {{{part.field}}} does; put a {SEPARATOR} behind it"
                )

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(f"value{index}" for index in range(len(self.parts)))

    def source(self, values: Sequence[str], encoder: str = "encode") -> str:
        """The expression of what keys begin with whose first fields have the values of these expressions, with the
        encoders under names that begin so."""
        pieces = [repr(self.literals[0])]
        for index, (value, part) in enumerate(zip(values, self.parts, strict=False)):
            if part.encoding.textual:
                # Most parts are letters and digits, which are their own text, and this is the cheapest way to know.
                plain = f"(text := {value}).__class__ is str and text.isalnum()"
                pieces.append(f"(text if {plain} else {encoder}{index}(text))")
            else:
                pieces.append(f"{encoder}{index}({value})")
            pieces.append(repr(part.follower))
        return " + ".join(piece for piece in pieces if piece != repr("")) or repr("")

    def encoders(self, prefix: str = "encode") -> dict[str, Callable[[Any], str]]:
        """What `source` calls, by name."""
        return {f"{prefix}{index}": _encoder(part) for index, part in enumerate(self.parts)}

    def build(self, values: Sequence[Any]) -> str:
        """The key of these values, one for each field."""
        if len(values) != len(self.parts):
            raise KeyPartError(f"{self.text!r} takes {len(self.parts)} values, not {len(values)}")
        return self.prefix(values) or self.reject_empty()

    def reject_empty(self) -> NoReturn:
        raise KeyPartError(f"{self.fields[0]}: the key would be empty")

    def prefix(self, values: Sequence[Any]) -> str:
        """What all keys begin with whose first fields have these values."""
        text: str = self._prefixes[len(values)](*values)
        return text

    def parse(self, text: str) -> dict[str, Any] | None:
        """The values of a key, or None if this template did not build it."""
        found = self._match(text)
        if found is None:
            return None
        try:
            values = {part.field: part.encoding.decode(found[part.field]) for part in self.parts}
            # A text may have the right shape and still be no value's own, such as b07.
            return values if self.build(list(values.values())) == text else None
        except ValueError:
            return None

    def matches(self, text: str) -> bool:
        """Whether the text has this template's shape; every row read pays for this one."""
        return self._matches(text) is not None

    @cached_property
    def _match(self) -> Callable[[str], re.Match[str] | None]:
        return self._compiled("(?P<{field}>{pattern})")

    @cached_property
    def _matches(self) -> Callable[[str], re.Match[str] | None]:
        return self._compiled("(?:{pattern})")

    def _compiled(self, group: str) -> Callable[[str], re.Match[str] | None]:
        pattern = re.escape(self.literals[0])
        for field, encoding, follower in self.parts:
            pattern += group.format(field=field, pattern=encoding.pattern) + re.escape(follower)
        return re.compile(pattern, re.DOTALL).fullmatch

    # The ranges. Each is inclusive, as BETWEEN is, and holds exactly the keys of this template that it should.

    def between(self, given: Sequence[Any], low: Any, high: Any) -> KeyRange:
        return KeyRange(self.first_of(given, low), self.last_of(given, high))

    def before(self, given: Sequence[Any], limit: Any) -> KeyRange:
        start = self.prefix(given)
        first = self.first_of(given, limit)
        # A longer key comes after this text, which no key of the template equals.
        high = first if self.parts[len(given)].follower else just_below(first)
        # Nothing at all is before the least value; the range must still not be upside down.
        return KeyRange(min(start, high), high)

    def after(self, given: Sequence[Any], limit: Any) -> KeyRange:
        last = self.last_of(given, limit)
        low = last if self.parts[len(given)].follower else f"{last}\0"
        return KeyRange(low, self.prefix(given) + TOP)

    def starting(self, given: Sequence[Any], beginning: Any) -> str:
        part = self.parts[len(given)]
        if not part.encoding.textual:
            raise KeyPartError(f"{part.field}: only text has a beginning; use between")
        return self.first_of(given, beginning)

    def first_of(self, given: Sequence[Any], value: Any) -> str:
        """A text not above any key with this value in the next field, and above every key with a smaller one."""
        part, start = self.parts[len(given)], self.prefix(given)
        try:
            return start + part.encoding.encode(value)
        except KeyPartError as error:
            raise KeyPartError(f"{part.field}: {error}") from None

    def last_of(self, given: Sequence[Any], value: Any) -> str:
        """A text not below any key with this value in the next field, and below every key with a greater one."""
        text = self.first_of(given, value)
        follower = self.parts[len(given)].follower
        if not follower:
            return text
        if follower[0] == SEPARATOR:
            return text + ABOVE_SEPARATOR
        return text + just_above(follower[0])


def just_above(character: str) -> str:
    code = ord(character) + 1
    return chr(0xE000 if code == 0xD800 else code)


def just_below(text: str) -> str:
    """A text below this one, with no key between the two."""
    if not text:
        raise KeyPartError("nothing sorts before the empty text")
    code = ord(text[-1]) - 1
    if code < 0:
        return text[:-1]
    return text[:-1] + chr(0xD7FF if code == 0xDFFF else code) + TOP

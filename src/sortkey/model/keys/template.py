"""A key's template, `"STORE#{store}"`: builds and parses keys, and computes prefixes and ranges.

A template alternates literals and fields; `#` separates its segments. No encoded value contains `#`, so two keys are
equal only if all their segments are, which is how collisions are found.

    literals    "YEAR#"   "#MONTH#"    ""
    parts             year        month

A field whose encoding is not delimited (str, bytes) must end its segment; otherwise keys would not sort as its values
do. A partition key is not sorted, so there a literal may follow: `"GAME#{game}-SHARD#{shard}"`.

`format_hint` guesses the format of a key that another program wrote: `ORDER#3` has the form `ORDER#{number:d}`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from functools import cached_property
from string import Formatter
from typing import Any, Final, NamedTuple, NoReturn
from uuid import UUID

from sortkey.model.errors import DeclarationError, KeyPartError, NoAccessPath
from sortkey.model.fields.annotation import Annotation
from sortkey.model.fields.generated_function import generate_function
from sortkey.model.fields.key_text import ABOVE_SEPARATOR, SEPARATOR, TOP, Encoding
from sortkey.model.keys.field_encoding import encoding_of


class ReplacementField(NamedTuple):
    """`{field}` or `{field:spec}` in a template."""

    field: str
    spec: str


class ParsedTemplate(NamedTuple):
    """A template before its fields have types: one more literal than replacement fields."""

    text: str
    literals: tuple[str, ...]
    replacement_fields: tuple[ReplacementField, ...]

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(replacement.field for replacement in self.replacement_fields)

    @property
    def single_field(self) -> str | None:
        """The field of a template that is only a field, `"{field}"`."""
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
            if not field.isidentifier():
                raise DeclarationError(f"{text!r}: {{{field}}} is not a field name")
            if conversion is not None:
                raise DeclarationError(f"{text!r}: {{{field}!{conversion}}} is not a format; a format follows a colon")
            replacement_fields.append(ReplacementField(field, spec or ""))
            literals.append("")
    except ValueError as error:
        raise DeclarationError(f"{text!r}: {error}") from None
    made = ParsedTemplate(text, tuple(literals), tuple(replacement_fields))
    if not text:
        raise DeclarationError("the template of a key is empty")
    if TOP in text:
        raise DeclarationError(f"{text!r}: a key cannot contain U+10FFFF, which is not a character")
    if len(set(made.fields)) < len(replacement_fields):
        raise DeclarationError(f"{text!r} contains a field twice")
    return made


class TemplatePart(NamedTuple):
    field: str
    encoding: Encoding
    follower: str
    """The literal after the field; empty if the template ends with the field."""


def _encoder(part: TemplatePart) -> Callable[[Any], str]:
    """Encodes a value; errors name the field."""
    field, encode = part.field, part.encoding.encode

    def encoded(value: Any) -> str:
        try:
            return encode(value)
        except KeyPartError as error:
            raise KeyPartError(f"{field}: {error}") from None

    return encoded


class TextRange(NamedTuple):
    """The first and the last key of a range."""

    low: str
    high: str


class Template:
    """A template with the encodings of its fields."""

    def __init__(
        self,
        source: ParsedTemplate,
        types: Mapping[str, Annotation],
        *,
        partition: bool = False,
        computed: Mapping[str, Encoding] | None = None,
    ) -> None:
        """`computed` are the parts that are not fields."""
        known = computed or {}
        self.text = source.text
        self.fields = source.fields
        self.literals = source.literals
        self.parts = tuple(
            TemplatePart(
                replacement.field,
                known.get(replacement.field)
                or encoding_of(types[replacement.field], replacement.spec, followed=bool(follower)),
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
                raise DeclarationError(f"{self.text!r}: {{{part.field}}} needs a literal after it")
            if part.encoding.delimited or not part.follower or part.follower[0] == SEPARATOR:
                continue
            alone = last or SEPARATOR in part.follower
            if not partition or not alone:
                raise DeclarationError(
                    f"{self.text!r}: keys would not sort by {{{part.field}}}; put a {SEPARATOR} after it"
                )

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(f"value{index}" for index in range(len(self.parts)))

    def source(self, values: Sequence[str], encoder: str = "encode") -> str:
        """The expression of the prefix of keys whose first fields have these values; encoders are named
        `encoder` + index."""
        pieces = [repr(self.literals[0])]
        for index, (value, part) in enumerate(zip(values, self.parts, strict=False)):
            if part.encoding.textual:
                # Most values are letters and digits, which need no encoding; this is the cheapest test.
                unescaped = f"(text := {value}).__class__ is str and text.isalnum()"
                pieces.append(f"(text if {unescaped} else {encoder}{index}(text))")
            else:
                pieces.append(f"{encoder}{index}({value})")
            pieces.append(repr(part.follower))
        return " + ".join(piece for piece in pieces if piece != repr("")) or repr("")

    def encoders(self, prefix: str = "encode") -> dict[str, Callable[[Any], str]]:
        """The encoders that `source` calls, by name."""
        return {f"{prefix}{index}": _encoder(part) for index, part in enumerate(self.parts)}

    def build(self, values: Sequence[Any]) -> str:
        """The key with these values, one for each field."""
        if len(values) != len(self.parts):
            raise KeyPartError(f"{self.text!r} takes {len(self.parts)} values, not {len(values)}")
        return self.prefix(values) or self.reject_empty()

    def reject_empty(self) -> NoReturn:
        raise KeyPartError(f"{self.fields[0]}: the key attribute would be empty")

    def prefix(self, values: Sequence[Any]) -> str:
        """The prefix of all keys whose first fields have these values."""
        text: str = self._prefixes[len(values)](*values)
        return text

    def parse(self, text: str) -> dict[str, Any] | None:
        """The values in a key; None if this template did not build it."""
        found = self._match(text)
        if found is None:
            return None
        try:
            values = {part.field: part.encoding.decode(found[part.field]) for part in self.parts}
            # A text may match the pattern and still not be an encoded value, such as b07.
            return values if self.build(list(values.values())) == text else None
        except ValueError:
            return None

    def matches(self, text: str) -> bool:
        """Whether the text matches the template's pattern; called for every row read."""
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

    # Ranges: inclusive, as BETWEEN is. Of this template's keys they contain exactly those asked for.

    def between(self, given: Sequence[Any], low: Any, high: Any) -> TextRange:
        return TextRange(self.first_of(given, low), self.last_of(given, high))

    def before(self, given: Sequence[Any], limit: Any) -> TextRange:
        start = self.prefix(given)
        first = self.first_of(given, limit)
        # Keys are longer than this text, so they come after it.
        high = first if self.parts[len(given)].follower else just_below(first)
        # No key is before the least value; still, `low` must not be above `high`.
        return TextRange(min(start, high), high)

    def after(self, given: Sequence[Any], limit: Any) -> TextRange:
        last = self.last_of(given, limit)
        low = last if self.parts[len(given)].follower else f"{last}\0"
        return TextRange(low, self.prefix(given) + TOP)

    def starting(self, given: Sequence[Any], beginning: Any) -> str:
        part = self.parts[len(given)]
        if part.encoding.ordered and not part.encoding.textual:
            raise KeyPartError(f"{part.field}: starting needs a string; use between")
        return self.first_of(given, beginning)

    def first_of(self, given: Sequence[Any], value: Any) -> str:
        """A text that is above every key with a smaller value in the next field, and not above any with this value."""
        part, start = self.parts[len(given)], self.prefix(given)
        if not part.encoding.ordered:
            raise NoAccessPath(
                f"{self.text!r}: keys do not sort by {part.field}, because of its format, so it cannot have a range"
            )
        try:
            return start + part.encoding.encode(value)
        except KeyPartError as error:
            raise KeyPartError(f"{part.field}: {error}") from None

    def last_of(self, given: Sequence[Any], value: Any) -> str:
        """A text that is below every key with a greater value in the next field, and not below any with this value."""
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
    """A text below this one, without a key between the two."""
    if not text:
        raise KeyPartError("no key sorts before the empty string")
    code = ord(text[-1]) - 1
    if code < 0:
        return text[:-1]
    return text[:-1] + chr(0xD7FF if code == 0xDFFF else code) + TOP


_SPECS: Final[dict[Any, tuple[str, ...]]] = {
    str: ("", "raw"),
    int: ("", "d"),
    UUID: ("", "upper", "hex", "HEX"),
    date: ("", "%Y%m%d", "%d.%m.%Y", "%m/%d/%Y"),
    datetime: (
        "",
        "%Y-%m-%dT%H:%M:%SZ",
        "%Y-%m-%dT%H:%M:%S.%LZ",
        "%Y-%m-%dT%H:%M:%S+00:00",
        "%Y-%m-%dT%H:%M:%S.%f+00:00",
        "%Y-%m-%dT%H:%M:%S",
        "%Y-%m-%d %H:%M:%S",
        "%Y%m%d%H%M%S",
        "%s",
        "%s%L",
    ),
}
_UNESCAPED: Final = "[^#]*"


def format_hint(template: Template, annotations: Mapping[str, Annotation], text: str) -> str | None:
    """The template with formats that read the text; None if there are none."""
    pattern = re.escape(template.literals[0])
    for part in template.parts:
        pattern += f"({_UNESCAPED}){re.escape(part.follower)}"
    found = re.compile(pattern, re.DOTALL).fullmatch(text)
    if found is None:
        return None
    hint = template.literals[0]
    for part, content in zip(template.parts, found.groups(), strict=True):
        spec = next(_specs_that_read(part, annotations[part.field], content), None)
        if spec is None:
            return None
        hint += f"{{{part.field}{spec and f':{spec}'}}}{part.follower}"
    return hint


def _specs_that_read(part: TemplatePart, annotation: Annotation, content: str) -> Iterator[str]:
    if annotation.base is int and content.isdecimal() and content.startswith("0") and len(content) > 1:
        yield f"0{len(content)}"
    for spec in _SPECS.get(annotation.base, ("",)):
        try:
            encoding = encoding_of(annotation, spec, followed=bool(part.follower))
            if re.fullmatch(encoding.pattern, content) and encoding.encode(encoding.decode(content)) == content:
                yield spec
        except (DeclarationError, KeyPartError, ValueError):
            continue

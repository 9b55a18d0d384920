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
from functools import cached_property
from string import Formatter
from typing import Any, Final, NamedTuple, NoReturn
from uuid import UUID

from sortkey.limits import PARTITION_KEY_BYTES, SORT_KEY_BYTES
from sortkey.model.errors import UNEXPECTED, DeclarationError, KeyPartError, NoAccessPath, shown
from sortkey.model.fields.annotation import Annotation
from sortkey.model.fields.generated_function import generate_function
from sortkey.model.fields.key_text import ABOVE_SEPARATOR, SEPARATOR, TOP, Encoding
from sortkey.model.fields.real_types import RealTypes
from sortkey.model.keys.field_encoding import encoding_of, exact_encoding, joined_encoding


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
        return tuple(dict.fromkeys(replacement.field for replacement in self.replacement_fields))

    @property
    def single_field(self) -> str | None:
        """The field of a template that is only a field, `"{field}"`."""
        if len(self.replacement_fields) == 1 and self.literals == ("", "") and not self.replacement_fields[0].spec:
            return self.replacement_fields[0].field
        return None


def parse_template(text: str) -> ParsedTemplate:
    if not isinstance(text, str):
        raise DeclarationError(f"a template is a text, such as 'STORE#{{store}}', not {shown(text)}")
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
    if re.search("[\ud800-\udfff]", text):
        raise DeclarationError(f"{text!r}: half of a surrogate pair is not a character")
    for field in made.fields:
        specs = [replacement.spec for replacement in replacement_fields if replacement.field == field]
        if len(specs) > 1 and not all(spec.startswith("%") for spec in specs):
            raise DeclarationError(
                f"{text!r} contains {field} twice; only parts of a time can, as in {{at:%Y}}#{{at:%m}}#{{at:%d}}"
            )
    return made


def _joined(source: ParsedTemplate) -> Iterator[tuple[str, list[str], list[str], str]]:
    """The fields of a template: name, formats, the literals between those, and the literal after the field. Occurrences
    that follow each other are one. Raises DeclarationError for others."""
    pairs = list(zip(source.replacement_fields, source.literals[1:], strict=True))
    seen: set[str] = set()
    while pairs:
        (field, spec), follower = pairs.pop(0)
        if field in seen:
            raise DeclarationError(f"{source.text!r}: the parts of {field} must follow each other")
        seen.add(field)
        specs, between = [spec], []
        while pairs and pairs[0][0].field == field:
            between.append(follower)
            (_, spec), follower = pairs.pop(0)
            specs.append(spec)
        yield field, specs, between, follower


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
        except UNEXPECTED as error:
            raise KeyPartError(f"{field}: {shown(value)}: {type(error).__name__}: {error}") from error

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
        exact: bool = False,
        computed: Mapping[str, Encoding] | None = None,
    ) -> None:
        """`exact` if the key must tell its fields, as a primary key does. `computed` are the parts that are not
        fields."""
        known = computed or {}
        self.text = source.text
        self.fields = source.fields
        self.parts = tuple(
            TemplatePart(
                field,
                known.get(field)
                or (
                    encoding_of(types[field], specs[0], followed=bool(follower))
                    if len(specs) == 1
                    else joined_encoding(types[field], specs, between)
                ),
                follower,
            )
            for field, specs, between, follower in list(_joined(source))
        )
        if exact:
            self.parts = tuple(part._replace(encoding=exact_encoding(part.encoding)) for part in self.parts)
        self.literals = (source.literals[0], *(part.follower for part in self.parts))
        self.lossy = frozenset(part.field for part in self.parts if part.encoding.lossy)
        """The fields whose values it does not tell."""
        self.open_end = self.parts[-1].encoding.end if self.parts else None
        self._has_only_texts = all(part.encoding.textual and part.encoding.of_content == "{0}" for part in self.parts)
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
        size, limit = len("".join(self.literals).encode()), PARTITION_KEY_BYTES if partition else SORT_KEY_BYTES
        if size > limit:
            raise DeclarationError(f"{self.text[:40]!r}… has {size:,} bytes, and the key attribute can have {limit:,}")
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
        contents = found.groupdict()
        if self._has_only_texts and "".join(contents.values()).isalnum():
            # Letters and digits are unchanged, and most keys have nothing else.
            return contents
        try:
            values = {part.field: part.encoding.decode(contents[part.field]) for part in self.parts}
            # A text may match the pattern and still not be an encoded value, such as b07.
            return values if self.build(list(values.values())) == text else None
        except ValueError:
            return None

    def set_open_end(self, is_open: bool) -> None:
        """Allow or forbid separators in the last field, `{x:raw}`."""
        if self.open_end is not None:
            self.open_end.is_open = is_open
        for name in ("_match", "_matches"):
            vars(self).pop(name, None)

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
            pattern += group.format(field=field, pattern=encoding.matched) + re.escape(follower)
        return re.compile(pattern, re.DOTALL).fullmatch

    # Ranges: inclusive, as BETWEEN is. Of this template's keys they contain exactly those asked for.

    def descends(self, given: Sequence[Any]) -> bool:
        """Whether the keys with the greatest values of the next field come first."""
        return self.parts[len(given)].encoding.descending

    @property
    def begins_descending(self) -> bool:
        """Whether keys sort by the first field, the greatest value first: no literal is before it."""
        return bool(self.parts) and not self.literals[0] and self.descends(())

    def between(self, given: Sequence[Any], low: Any, high: Any) -> TextRange:
        first, last = (high, low) if self.descends(given) else (low, high)
        return TextRange(self.first_of(given, first), self.last_of(given, last))

    def below(self, given: Sequence[Any], limit: Any) -> TextRange:
        start = self.prefix(given)
        first = self.first_of(given, limit)
        # Keys are longer than this text, so they come after it.
        high = first if self.parts[len(given)].follower else just_below(first)
        # No key is before the least value; still, `low` must not be above `high`.
        return TextRange(min(start, high), high)

    def above(self, given: Sequence[Any], limit: Any) -> TextRange:
        last = self.last_of(given, limit)
        low = last if self.parts[len(given)].follower else f"{last}\0"
        return TextRange(low, self.prefix(given) + TOP)

    def starting(self, given: Sequence[Any], beginning: Any) -> str:
        part = self.parts[len(given)]
        if part.encoding.ordered and not part.encoding.textual:
            raise KeyPartError(f"{part.field}: starting needs a string; use between")
        return self.first_of(given, beginning)

    def first_of(self, given: Sequence[Any], value: Any) -> str:
        """A text that is above every key whose next field sorts before this value, and above none with this value."""
        part, start = self.parts[len(given)], self.prefix(given)
        if not part.encoding.ordered:
            raise NoAccessPath(
                f"{self.text!r}: keys do not sort by {part.field}, because of its format, so it cannot have a range"
            )
        return start + _encoder(part)(value)

    def last_of(self, given: Sequence[Any], value: Any) -> str:
        """A text that is below every key whose next field sorts after this value, and below none with this value."""
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
    str: ("", "raw", "lower", "upper"),
    int: ("", "d"),
    UUID: ("", "upper", "hex", "HEX"),
    RealTypes.date: ("", "%Y%m%d", "%d.%m.%Y", "%m/%d/%Y"),
    RealTypes.datetime: (
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
        inner = _UNESCAPED if part.follower or annotations[part.field].base is not str else ".*"
        pattern += f"({inner}){re.escape(part.follower)}"
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

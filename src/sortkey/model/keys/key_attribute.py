"""One attribute of a key: how it is computed from an item's fields, parsed, and queried.

Most key attributes are strings built from a template. A template that is only a number or a binary field, `"{score}"`,
is stored natively, as N or B. If a key attribute has the name of a field, its template must be that field, and the
attribute is stored once, as the field's own type. So an existing table can be declared too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, Literal, NamedTuple

from sortkey.model.errors import UNEXPECTED, DeclarationError, EncodeError, KeyPartError, shown
from sortkey.model.fields.annotation import Annotation
from sortkey.model.fields.codec import Field
from sortkey.model.fields.converter import Value
from sortkey.model.fields.generated_function import generate_function
from sortkey.model.fields.key_text import SEPARATOR
from sortkey.model.keys.shards import SHARD, SHARD_ENCODING, Sharding, shard_text
from sortkey.model.keys.template import ParsedTemplate, ReplacementField, Template

Comparison = Literal["=", "<", "<=", ">", ">=", "BETWEEN", "begins_with"]


class SortCondition(NamedTuple):
    """The condition of a query on a sort-key attribute: an operator and its one or two values."""

    attribute: str
    operator: Comparison
    values: tuple[Value, ...]


class Expression(NamedTuple):
    """A part of a generated function's source."""

    source: str
    names: dict[str, Any]
    """The values of the names that it uses."""


class TemplateAttribute:
    """A string built from a template."""

    tag: Final = "S"
    is_field: bool = False
    """Whether its fields are key attributes themselves, which a query's filter cannot use."""

    sharding: Sharding | None = None

    def __init__(
        self, name: str, template: Template, *, held: Iterable[str] | None = None, fields: Iterable[str] | None = None
    ) -> None:
        self.name = name
        self.template = template
        self.held = template.fields if held is None else tuple(held)
        """The fields that it contains."""
        self.fields = template.fields if fields is None else tuple(fields)
        """The fields that it is computed from: those that it contains come first."""
        variables = [f"value{index}" for index in range(len(self.fields))]
        self.of: Callable[..., Value] = generate_function(variables, *self.expression(variables))
        """The attribute value, from the values of the fields as arguments."""
        self.value_from: Callable[[object], Value] = generate_function(
            ("source",), *self.expression([f"source.{field}" for field in self.fields])
        )
        """The attribute value, from an item; part of every write."""

    def expression(self, values: Sequence[str], suffix: str = "") -> Expression:
        """The expression of the attribute value, from those of the field values; its names end with the suffix."""
        text = self.text(values, suffix)
        return Expression(f"{{'S': {text.source}}}", text.names)

    def text(self, values: Sequence[str], suffix: str = "") -> Expression:
        """The expression of the string alone."""
        encoder, reject = f"encode{suffix}_", f"reject{suffix}"
        source = f"{self.template.source(values, encoder)} or {reject}()"
        return Expression(source, {**self.template.encoders(encoder), reject: self.template.reject_empty})

    def __repr__(self) -> str:
        return repr(self.template)

    def value(self, values: Sequence[Any]) -> Value:
        return self.of(*values)

    def parse(self, value: Value) -> dict[str, Any] | None:
        text = value.get("S")
        found = self.template.parse(text) if isinstance(text, str) else None
        if found is None or not self.template.lossy:
            return found
        return {name: each for name, each in found.items() if name not in self.template.lossy}

    def matches(self, value: Value | None) -> bool:
        text = value.get("S") if value is not None else None
        return isinstance(text, str) and self.template.matches(text)

    def prefix(self, given: Sequence[Any]) -> SortCondition | None:
        """The condition that the first fields have these values; None if it has no effect."""
        if len(given) == len(self.fields):
            return SortCondition(self.name, "=", (self.of(*given),))
        text = self.template.prefix(given)
        return self._texts("begins_with", text) if text else None

    def between(self, given: Sequence[Any], low: Any, high: Any) -> SortCondition:
        bounds = self.template.between(given, low, high)
        if bounds.low > bounds.high:
            raise KeyPartError(f"{self.fields[len(given)]}: the range from {low!r} to {high!r} is empty")
        return self._texts("BETWEEN", *bounds)

    def before(self, given: Sequence[Any], limit: Any) -> SortCondition:
        return (self._above if self.template.descends(given) else self._below)(given, limit)

    def after(self, given: Sequence[Any], limit: Any) -> SortCondition:
        return (self._below if self.template.descends(given) else self._above)(given, limit)

    def _below(self, given: Sequence[Any], limit: Any) -> SortCondition:
        if self.template.prefix(given):
            return self._texts("BETWEEN", *self.template.below(given, limit))
        return self._compared("<", self.template.first_of(given, limit))

    def _above(self, given: Sequence[Any], limit: Any) -> SortCondition:
        if self.template.prefix(given):
            return self._texts("BETWEEN", *self.template.above(given, limit))
        return self._compared(">", self.template.last_of(given, limit))

    def starting(self, given: Sequence[Any], beginning: Any) -> SortCondition | None:
        text = self.template.starting(given, beginning)
        return self._texts("begins_with", text) if text else None

    def _compared(self, operator: Comparison, text: str) -> SortCondition:
        if not text:
            raise KeyPartError(f"{self.fields[0]}: an empty string is not a limit")
        return self._texts(operator, text)

    def _texts(self, operator: Comparison, *texts: str) -> SortCondition:
        return SortCondition(self.name, operator, tuple({"S": text} for text in texts))


class JoinedAttribute(TemplateAttribute):
    """The attributes of a multi-attribute key, joined to one string, for a store without such keys. It rejects the
    values that they would reject, so that all stores accept the same items.
    """

    is_field = True

    def expression(self, values: Sequence[str], suffix: str = "") -> Expression:
        joined = f"join{suffix}"
        return Expression(f"{joined}({', '.join(values)})", {joined: self._join})

    def _join(self, *values: Any) -> Value:
        for field, value in zip(self.fields, values, strict=True):
            if value in ("", b""):
                raise KeyPartError(f"{field}: the key attribute would be empty")
        return {"S": self.template.build(values)}


class NativeAttribute:
    """One field, stored as its own type: a number, a binary or a string."""

    template: Final = None
    sharding: Final = None

    def __init__(self, name: str, field: Field) -> None:
        if field.also:
            raise DeclarationError(f"{field.name} is stored in several forms, and a key has one")
        self.name = name
        self.field = field
        self.tag = field.tag
        self.held = self.fields = (field.name,)
        self.is_field = name == field.attribute

    def expression(self, values: Sequence[str], suffix: str = "") -> Expression:
        return Expression(f"native{suffix}({', '.join(values)})", {f"native{suffix}": self.of})

    def text(self, values: Sequence[str], suffix: str = "") -> Expression:
        """The expression of the string; only for a string attribute."""
        native = self.expression(values, suffix)
        source = f"{native.source}['S']"
        if self.field.annotation.base is str:
            source = f"(text if (text := {values[0]}).__class__ is str and text else {source})"
        return Expression(source, native.names)

    def value_from(self, source: object) -> Value:
        return self.of(getattr(source, self.field.name))

    def __repr__(self) -> str:
        return repr(f"{{{self.field.name}}}")

    def value(self, values: Sequence[Any]) -> Value:
        return self.of(*values)

    def of(self, value: Any) -> Value:
        try:
            encoded = self.field.encode(value)
        except EncodeError as error:
            raise KeyPartError(f"{self.field.name}: {error}") from None
        except UNEXPECTED as error:
            raise KeyPartError(f"{self.field.name}: {shown(value)}: {type(error).__name__}: {error}") from error
        if not encoded[self.tag]:
            raise KeyPartError(f"{self.field.name}: the key attribute would be empty")
        return encoded

    def parse(self, value: Value) -> dict[str, Any] | None:
        try:
            return {self.field.name: self.field.decode(value)}
        except (KeyError, ValueError):
            return None

    def matches(self, value: Value | None) -> bool:
        return value is not None and self.tag in value

    def prefix(self, given: Sequence[Any]) -> SortCondition | None:
        return SortCondition(self.name, "=", (self.value(given),)) if given else None

    def between(self, _given: Sequence[Any], low: Any, high: Any) -> SortCondition:
        bounds = self.value([low]), self.value([high])
        if _is_empty(self.tag, *bounds):
            raise KeyPartError(f"{self.field.name}: the range from {low!r} to {high!r} is empty")
        return SortCondition(self.name, "BETWEEN", bounds)

    def before(self, _given: Sequence[Any], limit: Any) -> SortCondition:
        return SortCondition(self.name, "<", (self.value([limit]),))

    def after(self, _given: Sequence[Any], limit: Any) -> SortCondition:
        return SortCondition(self.name, ">", (self.value([limit]),))

    def starting(self, _given: Sequence[Any], beginning: Any) -> SortCondition | None:
        if self.field.annotation.base not in (str, bytes):
            raise KeyPartError(f"{self.field.name}: starting needs a string; use between")
        return SortCondition(self.name, "begins_with", (self.value([beginning]),)) if beginning else None


def _is_empty(tag: str, low: Value, high: Value) -> bool:
    """Whether a range has nothing, in the store's order; the values themselves may have none."""
    return Decimal(low[tag]) > Decimal(high[tag]) if tag == "N" else low[tag] > high[tag]


KeyAttribute = TemplateAttribute | NativeAttribute


class ShardedAttribute(TemplateAttribute):
    """The partition-key attribute of a sharded key: its template, and the shard, which fields of the item decide.

    "TOP#{window}" in 16 shards by restaurant        TOP#2026#07
                                                     base     shard
    """

    def __init__(
        self,
        name: str,
        source: ParsedTemplate,
        types: Mapping[str, Annotation],
        sharding: Sharding,
        *,
        exact: bool = False,
    ) -> None:
        self.sharding: Sharding = sharding
        stored = Template(_with_shard(source), types, partition=True, exact=exact, computed={SHARD: SHARD_ENCODING})
        self.declared = source.text
        """The template without the shard."""
        super().__init__(name, stored, held=source.fields, fields=dict.fromkeys((*source.fields, *sharding.by)))

    def __repr__(self) -> str:
        return f"{self.declared!r} in {self.sharding!r}"

    def text(self, values: Sequence[str], suffix: str = "") -> Expression:
        encoder, shard = f"encode{suffix}_", f"shard{suffix}"
        known = dict(zip(self.fields, values, strict=True))
        decides = ", ".join(known[field] for field in self.sharding.by)
        source = self.template.source([*values[: len(self.held)], f"{shard}({decides})"], encoder)
        return Expression(source, {**self.template.encoders(encoder), shard: self.sharding.shard})

    def base(self, values: Sequence[str], suffix: str = "") -> Expression:
        """The expression of the attribute value without the shard, from those of the template's fields."""
        encoder = f"encode{suffix}_"
        source = self.template.source(values, encoder)
        return Expression(f"{{'S': {source}}}", self.template.encoders(encoder))

    def in_shard(self, base: Value, shard: int) -> Value:
        return {"S": base["S"] + shard_text(shard)}

    def shard_of(self, value: Value) -> int:
        """The shard of a stored attribute value."""
        return int(value["S"].rpartition(SEPARATOR)[2])

    def is_placed(self, text: str, values: Sequence[Any]) -> bool:
        """Whether a stored partition key ends in the shard that the fields `by` decide."""
        return text.endswith(SEPARATOR + shard_text(self.sharding.shard(*values)))

    def former_value(self, item: object) -> Value:
        """The attribute value of an item in the placement that `formerly` names."""
        values = [getattr(item, field) for field in self.held]
        former = self.sharding.former_shard(*(getattr(item, field) for field in self.sharding.by))
        return {"S": self.template.prefix(values) + shard_text(former)}

    def parse(self, value: Value) -> dict[str, Any] | None:
        found = super().parse(value)
        return None if found is None else {name: each for name, each in found.items() if name != SHARD}


def _with_shard(source: ParsedTemplate) -> ParsedTemplate:
    *literals, last = source.literals
    return ParsedTemplate(
        f"{source.text}{SEPARATOR}{{shard}}",
        (*literals, last + SEPARATOR, ""),
        (*source.replacement_fields, ReplacementField(SHARD, "")),
    )

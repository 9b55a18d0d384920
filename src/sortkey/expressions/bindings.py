"""A request's placeholders: ExpressionAttributeNames and ExpressionAttributeValues.

One `Bindings` serves all expressions of a request and records which placeholders they use.
"""

from __future__ import annotations

import re
from binascii import a2b_base64
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

from sortkey import limits
from sortkey.errors import ValidationException
from sortkey.expressions.errors import InvalidExpression
from sortkey.expressions.tree import Path, Value
from sortkey.values import errors
from sortkey.values.attribute import AttributeValue, TooLarge, canonical_scalar_size, measure_value
from sortkey.values.errors import InvalidRequest
from sortkey.values.size import text_size

DocumentPath = tuple[str | int, ...]
"""A path in which placeholders are replaced by attribute names."""

_PLACEHOLDER: Final = {"#": re.compile(r"#[A-Za-z0-9_]+"), ":": re.compile(r":[A-Za-z0-9_]+")}
_FEWEST_BUCKETS: Final = 16
_MANY_NAMES: Final = limits.EXPRESSION_VALUES_BYTES // limits.ATTRIBUTE_NAME_BYTES
"""Fewer names cannot exceed the limit on all names."""


class Bindings:
    __slots__ = ("_members", "_raw", "names", "size", "used", "values")

    def __init__(self, names: dict[str, str] | None, values: dict[str, AttributeValue] | None) -> None:
        self.names = _checked_names(names) if names is not None else {}
        self.values, self.size = _checked_values(values) if values is not None else ({}, 0)
        self.used: set[str] = set()
        """Placeholders of names (`#`) and of values (`:`)."""
        self._raw: dict[str, bytes] | None = None
        self._members: dict[tuple[str, ...], Members] | None = None

    def with_values(self, values: dict[str, Any]) -> Bindings | None:
        """The same names with other values, which are not copied. None unless they have the same placeholders and
        types, and are texts and numbers in canonical form. Raises ValidationException."""
        if values.keys() != self.values.keys():
            return None
        total = 0
        for key, value in values.items():
            size = canonical_scalar_size(value)
            if size is None or value.keys() != self.values[key].keys():
                return None
            total += size
        if total > limits.EXPRESSION_VALUES_BYTES:
            return None
        bindings = Bindings(None, None)
        bindings.names, bindings.values, bindings.size, bindings.used = self.names, values, total, self.used
        return bindings

    def path(self, path: Path) -> DocumentPath:
        parts = path.parts
        if len(parts) == 1:
            return (self.name(str(parts[0])),)
        if len(parts) > limits.NESTING_DEPTH:
            raise InvalidExpression(f"The document path has too many nesting levels; nesting levels: {len(parts)}")
        return tuple([part if isinstance(part, int) else self.name(part) for part in parts])

    def name(self, part: str) -> str:
        """The attribute name of a part of a path, which may be a placeholder."""
        if part[0] != "#":
            return part
        name = self.names.get(part)
        if name is None:
            raise InvalidExpression(
                f"An expression attribute name used in the document path is not defined; attribute name: {part}"
            )
        self.used.add(part)
        return name

    def attributes(self, parts: frozenset[str]) -> frozenset[str]:
        return frozenset(map(self.name, parts)) if parts else parts

    def value(self, value: Value) -> AttributeValue:
        bound = self.values.get(value.placeholder)
        if bound is None:
            raise InvalidExpression(
                f"An expression attribute value used in expression is not defined; attribute value: {value.placeholder}"
            )
        self.used.add(value.placeholder)
        return bound

    def raw(self, placeholder: str) -> bytes:
        """A binary value, decoded once for all items that it is compared with."""
        if self._raw is None:
            self._raw = {}
        raw = self._raw.get(placeholder)
        if raw is None:
            raw = self._raw[placeholder] = a2b_base64(self.values[placeholder]["B"])
        return raw

    def members(self, placeholders: tuple[str, ...]) -> Members:
        """The values of these placeholders, to look up whether another value is one of them."""
        if self._members is None:
            self._members = {}
        members = self._members.get(placeholders)
        if members is None:
            members = self._members[placeholders] = Members([self.values[each] for each in placeholders])
        return members

    def check_all_used(self) -> None:
        """Call once, after all expressions of the request are bound."""
        if len(self.used) < len(self.names) + len(self.values):
            _reject_unused("ExpressionAttributeNames", [key for key in self.names if key not in self.used])
            _reject_unused("ExpressionAttributeValues", [key for key in self.values if key not in self.used])


class Members:
    """Some values. Scalars are found by a look-up, others by comparing them one by one."""

    __slots__ = ("_others", "_scalars")

    def __init__(self, values: Iterable[AttributeValue]) -> None:
        self._scalars: set[tuple[str, str]] = set()
        self._others: list[AttributeValue] = []
        for value in values:
            ((tag, content),) = value.items()
            if type(content) is str:
                self._scalars.add((tag, content))
            else:
                self._others.append(value)

    def __contains__(self, value: AttributeValue) -> bool:
        ((tag, content),) = value.items()
        return (tag, content) in self._scalars if type(content) is str else value in self._others


def _reject_unused(parameter: str, unused: list[str]) -> None:
    if unused:
        keys = ", ".join(_in_java_order(unused))
        raise InvalidRequest(f"Value provided in {parameter} unused in expressions: keys: {{{keys}}}")


def _in_java_order(keys: list[str]) -> list[str]:
    """In the order of a Java hash set, in which DynamoDB lists them."""
    buckets = _FEWEST_BUCKETS
    while buckets <= len(keys) * 4 // 3:
        buckets *= 2
    return sorted(keys, key=lambda key: _java_hash(key) % buckets)


def _java_hash(text: str) -> int:
    code = 0
    for character in text:
        code = (code * 31 + ord(character)) & 0xFFFFFFFF
    return code ^ (code >> 16)


def _checked_names(names: dict[str, str]) -> dict[str, str]:
    parameter = "ExpressionAttributeNames"
    if not names:
        raise InvalidRequest(f"{parameter} must not be empty")
    if len(names) > _MANY_NAMES and sum(map(len, names.values())) > limits.EXPRESSION_VALUES_BYTES:
        raise _too_large(parameter)
    for key, name in names.items():
        _check_placeholder(parameter, "#", key)
        # Most names are short ASCII: this saves a call.
        if name and name.isascii() and len(name) < limits.ATTRIBUTE_NAME_BYTES:
            continue
        if error := name_error(name):
            raise InvalidRequest(f"{parameter} contains invalid value: {error} for key {key}")
    return names


def name_error(name: str | None) -> str | None:
    """DynamoDB's message for an invalid attribute name; None if the name is valid."""
    if name is None:
        return "null"
    if not name:
        return errors.EMPTY_NAME
    try:
        size = text_size(name)
    except UnicodeEncodeError:
        raise errors.not_unicode() from None
    return errors.NAME_TOO_LONG if size >= limits.ATTRIBUTE_NAME_BYTES else None


def _checked_values(values: dict[str, Any]) -> tuple[dict[str, AttributeValue], int]:
    """The canonical values, and their size together."""
    parameter = "ExpressionAttributeValues"
    if not values:
        raise InvalidRequest(f"{parameter} must not be empty")
    checked = {}
    total = 0
    for key, value in values.items():
        _check_placeholder(parameter, ":", key)
        try:
            size = canonical_scalar_size(value)
            if size is None:
                value, size = measure_value(value)
        except TooLarge:
            raise _too_large(parameter) from None
        except InvalidRequest as error:
            raise InvalidRequest(_invalid_value(parameter, key, error), error.message) from None
        except ValidationException as error:
            raise ValidationException(_invalid_value(parameter, key, error)) from None
        checked[key] = value
        total += size
        if total > limits.EXPRESSION_VALUES_BYTES:
            raise _too_large(parameter)
    return checked, total


def _invalid_value(parameter: str, key: str, error: ValidationException) -> str:
    return f"{parameter} contains invalid value: {error.message} for key {key}"


def _too_large(parameter: str) -> ValidationException:
    return ValidationException(f"{parameter} exceeds max size")


@lru_cache(maxsize=4096)
def _check_placeholder(parameter: str, sign: str, key: str) -> None:
    if not key:
        raise InvalidRequest(f"{parameter} contains invalid key: The expression attribute map contains an empty key;")
    size = len(key.encode())
    if size > limits.PLACEHOLDER_BYTES:
        detail = f" size of key: {size}" if sign == "#" else ""
        raise InvalidRequest(
            f"{parameter} contains invalid key: The expression attribute map contains a key that is too long;{detail}"
        )
    if not _PLACEHOLDER[sign].fullmatch(key):
        raise InvalidRequest(f'{parameter} contains invalid key: Syntax error; key: "{key}"')

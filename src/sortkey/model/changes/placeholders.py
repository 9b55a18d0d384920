"""The placeholders of a request's expressions: ExpressionAttributeNames and ExpressionAttributeValues."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from sortkey.model.fields.converter import Value


class Placeholders:
    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._values: dict[str, Value] = {}

    def begin_with(self, others: Placeholders) -> bool:
        """Take over others; False if there are some here already."""
        if self._names or self._values:
            return False
        self._names.update(others._names)
        self._values.update(others._values)
        return True

    def mark(self) -> tuple[int, int]:
        """What there is now, for `back_to`."""
        return len(self._names), len(self._values)

    def back_to(self, mark: tuple[int, int]) -> None:
        """Forgets what came after the mark."""
        names, values = mark
        self._names = dict(islice(self._names.items(), names))
        self._values = dict(islice(self._values.items(), values))

    def name(self, attribute: str) -> str:
        return self._names.setdefault(attribute, f"#n{len(self._names)}")

    def value(self, value: Value) -> str:
        placeholder = f":v{len(self._values)}"
        self._values[placeholder] = value
        return placeholder

    def added_to(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The request with these names and values added to its own."""
        names = {**request.get("ExpressionAttributeNames", {}), **{short: name for name, short in self._names.items()}}
        values = {**request.get("ExpressionAttributeValues", {}), **self._values}
        made = dict(request)
        if names:
            made["ExpressionAttributeNames"] = names
        if values:
            made["ExpressionAttributeValues"] = values
        return made

    def equal(self, attribute: str, value: Value | None) -> str:
        """The condition that an attribute has this value; None for absent."""
        if value is None:
            return f"attribute_not_exists({self.name(attribute)})"
        return f"{self.name(attribute)} = {self.value(value)}"

    def exists(self, attribute: str, unless_absent: Iterable[str]) -> str:
        """The condition that an attribute exists, unless one of the others is absent."""
        exists = f"attribute_exists({self.name(attribute)})"
        return any_of(exists, *(self.equal(name, None) for name in unless_absent))


def all_of(tests: Iterable[str]) -> str:
    """Needs no parentheses inside `any_of`: AND binds closer than OR."""
    return " AND ".join(tests)


def any_of(*tests: str) -> str:
    """In parentheses if there are several tests; DynamoDB rejects parentheses around parentheses."""
    return tests[0] if len(tests) == 1 else f"({' OR '.join(tests)})"

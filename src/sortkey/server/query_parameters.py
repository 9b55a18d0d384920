"""Query parameters of fast routes: texts and numbers, each at most once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

from litestar.params import QueryParameter
from litestar.typing import FieldDefinition

MAX_DIGITS: Final = 9

Take = Callable[[str], Any]
"""The value of a text; None if the general path must look at it."""


class QueryParameters:
    """Takes the usual query strings; Litestar takes the others, and words any error."""

    def __init__(self, parameters: Mapping[str, FieldDefinition]) -> None:
        self._takes: dict[str, tuple[str, Take]] = {}
        for argument, parameter in parameters.items():
            declared = parameter.kwarg_definition
            name = declared.name if isinstance(declared, QueryParameter) else None
            self._takes[name or argument] = (argument, _TAKES[parameter.annotation])

    @staticmethod
    def are(parameters: Mapping[str, FieldDefinition]) -> bool:
        """Whether these are parameters that a fast route can take: declared, of a known type, with a default."""
        return all(
            isinstance(each.kwarg_definition, QueryParameter) and each.annotation in _TAKES and not each.is_required
            for each in parameters.values()
        )

    def decode(self, query: bytes) -> dict[str, Any] | None:
        """The arguments; None if the general path must look at them."""
        found: dict[str, Any] = {}
        for name, text in parse_qsl(query.decode("ascii", "replace"), keep_blank_values=True):
            taken = self._takes.get(name)
            if taken is None:
                continue
            argument, take = taken
            value = take(text)
            if value is None or argument in found:
                return None
            found[argument] = value
        return found


def _text(text: str) -> str | None:
    return text or None


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS else None


_TAKES: Final[Mapping[Any, Take]] = {str: _text, str | None: _text, int: _number, int | None: _number}

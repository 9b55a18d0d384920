"""The query parameters of routes: which ones a handler declares, and their values on the fast path.

A parameter that the handler does not declare is an error: a misspelt one would otherwise select everything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

from litestar.di import Provide
from litestar.handlers import BaseRouteHandler, HTTPRouteHandler
from litestar.params import QueryParameter
from litestar.typing import FieldDefinition

from sortkey.model.errors import suggestion
from sortkey.server.errors import api_error
from sortkey.server.exchange import CALLER

MAX_DIGITS: Final = 9
_OWN: Final = frozenset({"request", "scope", "query"})
"""Arguments by which a handler reads the query string itself."""
_NO_QUERY: Final = frozenset({"data", "body", "headers", "cookies", "state", CALLER})

Take = Callable[[str], Any]
"""The value of a text; None if the general path must look at it."""


def declared_parameters(handler: BaseRouteHandler) -> frozenset[str] | None:
    """The names of a handler's query parameters, and of those of its dependencies; None if only the handler knows
    them."""
    if not isinstance(handler, HTTPRouteHandler):
        return None
    return _names(handler.parsed_fn_signature.parameters, handler.resolve_dependencies())


def _names(parameters: Mapping[str, FieldDefinition], dependencies: Mapping[str, Provide]) -> frozenset[str] | None:
    names: set[str] = set()
    for argument, parameter in parameters.items():
        declared = parameter.kwarg_definition
        if argument in _OWN:
            return None
        if argument in dependencies and argument != CALLER:
            further = _names(dependencies[argument].parsed_fn_signature.parameters, dependencies)
            if further is None:
                return None
            names |= further
        elif isinstance(declared, QueryParameter):
            names.add(declared.name or argument)
        elif declared is None and argument not in _NO_QUERY:
            names.add(argument)
    return frozenset(names)


def refuse_unknown(query: bytes, declared: frozenset[str] | None) -> None:
    """Raises ApiError for a query string with a name that is not declared."""
    if declared is None:
        return
    for name, _ in parse_qsl(query.decode("ascii", "replace"), keep_blank_values=True):
        if name not in declared:
            others = suggestion(name, sorted(declared)) if declared else "; this route takes none"
            raise api_error(400, f"There is no query parameter {name[:100]!r}{others}")


class QueryParameters:
    """Texts and numbers, each at most once. Takes the usual query strings; Litestar takes the others, and words any
    error."""

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
                return None
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

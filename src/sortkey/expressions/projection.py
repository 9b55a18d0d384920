"""Projection expressions: which parts of an item are returned."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from sortkey.errors import ValidationException
from sortkey.expressions.bindings import Bindings, DocumentPath
from sortkey.expressions.compilation import CACHED_TEXTS, cached_by_text
from sortkey.expressions.errors import InvalidExpression
from sortkey.expressions.parser import parse_projection
from sortkey.expressions.paths import branches, pick, resolve
from sortkey.values.attribute import Item

CACHED_PATHS: Final = 32
"""Of a projection that is kept. Larger ones are rare, and take much memory."""


class Projection:
    """Reduces an item to some document paths."""

    __slots__ = ("_wanted", "attributes", "nested", "whole")

    def __init__(self, paths: Sequence[DocumentPath]) -> None:
        self._wanted = branches(paths)
        self.attributes = frozenset(str(path[0]) for path in paths)
        """The top-level attributes that are kept, whole or in part."""
        self.nested = frozenset(str(path[0]) for path in paths if len(path) > 1)
        """The top-level attributes that are kept in part, by a longer path."""
        self.whole = None if self.nested else tuple(map(str, self._wanted))
        """The attributes, in order, if all are kept whole."""

    def __call__(self, item: Item) -> Item:
        return pick(item, self._wanted)


def projection(text: str, bindings: Bindings) -> Projection:
    try:
        paths = resolve(_parsed(text), bindings)
        return _projection_of(paths) if len(paths) <= CACHED_PATHS else Projection(paths)
    except InvalidExpression as error:
        raise ValidationException(f"Invalid ProjectionExpression: {error}") from None


_parsed = cached_by_text(parse_projection)
_projection_of = lru_cache(maxsize=CACHED_TEXTS)(Projection)

"""Projection expressions: the parts of an item that a reader asked for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from sortkey.errors import ValidationException
from sortkey.expressions.bindings import Bindings, DocumentPath
from sortkey.expressions.compilation import CACHED_TEXTS
from sortkey.expressions.errors import InvalidExpression
from sortkey.expressions.parser import parse_projection
from sortkey.expressions.paths import branches, pick, resolve
from sortkey.values.attribute import Item


class Projection:
    """Keeps only some paths of an item; what stands at none of them is not there at all."""

    __slots__ = ("_wanted", "attributes", "nested")

    def __init__(self, paths: Sequence[DocumentPath]) -> None:
        self._wanted = branches(paths)
        self.attributes = frozenset(str(path[0]) for path in paths)
        """The top-level attributes that anything is kept of."""
        self.nested = frozenset(str(path[0]) for path in paths if len(path) > 1)
        """Those of them that only a part is kept of."""

    def __call__(self, item: Item) -> Item:
        return pick(item, self._wanted)


def projection(text: str, bindings: Bindings) -> Projection:
    try:
        return _keeping(resolve(_parsed(text), bindings))
    except InvalidExpression as error:
        raise ValidationException(f"Invalid ProjectionExpression: {error}") from None


_parsed = lru_cache(maxsize=CACHED_TEXTS)(parse_projection)
_keeping = lru_cache(maxsize=CACHED_TEXTS)(Projection)

"""Searches of vector indexes: the items that are most similar to a vector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from sortkey.model.calls.lookups import completed
from sortkey.model.calls.steps import Context, Steps
from sortkey.model.errors import Unsupported
from sortkey.model.fields.codec import Row
from sortkey.model.items.partial_item import decode_partial
from sortkey.model.items.vector_index import VectorPath

T = TypeVar("T")


class Neighbour(NamedTuple, Generic[T]):
    """An item that a search found, and its score."""

    item: T
    score: float
    """The distance, the smallest first; with DOT_PRODUCT the product, the greatest first."""


def nearest(
    context: Context, path: VectorPath[T], vector: Sequence[float], k: int, whole: bool
) -> Steps[list[Neighbour[T]]]:
    if type(path) is not VectorPath:
        raise TypeError(f"expected a path of a vector index, such as Product.similar(), not {path!r}")
    if not context.capabilities.vectors:
        raise Unsupported(f"{path.name}: {context.capabilities.store} has no vector indexes")
    answer = yield from context.send("SearchVectors", path.request(vector, k), path.name)
    rows = answer["SearchResults"]
    found = [Neighbour(item, each["Score"]) for each in rows if (item := _decoded(path, each["Item"])) is not None]
    context.meter.returned(path.name, len(found), read=len(rows))
    if not whole:
        return found
    items = yield from completed(context, [each.item for each in found], consistent=False)
    return [Neighbour(item, each.score) for item, each in zip(items, found, strict=True) if item is not None]


def _decoded(path: VectorPath[Any], row: Row) -> Any:
    """The partial item of a row; None if it is of another class."""
    if not path.schema.recognises(row):
        return None
    return decode_partial(path.schema.of_row(row), path.layout.index, row)

"""Which of the rows that the store returns become items, and which parts of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from sortkey.model.changes.combination import Where, requires_nothing
from sortkey.model.changes.query_filter import QueryFilter
from sortkey.model.changes.typed_field import FieldName
from sortkey.model.paths.access_path import Path
from sortkey.model.sessions.item_decoder import ItemTest, Undecodable
from sortkey.model.sessions.only_fields import OnlyFields


class Wanted(NamedTuple):
    """Which of the rows that the store returns become items."""

    accepts: ItemTest | None
    undecodable: Undecodable
    most: int | None = None
    """How many at most; None for all."""
    only: OnlyFields | None = None
    """Which fields they have; None for all."""
    whole: bool = False
    """Whether partial items are read again."""

    def less(self, items: int) -> Wanted:
        """The same after this many items."""
        return self if self.most is None else self._replace(most=self.most - items)


class Parts(NamedTuple):
    """Which parts of the items a read returns: `only=` and `whole=`."""

    only: Iterable[FieldName] | None = None
    whole: bool = False


ALL_PARTS: Final = Parts()


def wanted_items(
    path: Path[Any],
    where: Where | None,
    undecodable: Undecodable,
    most: int | None = None,
    parts: Parts = ALL_PARTS,
) -> Wanted:
    if most is not None and most < 1:
        raise ValueError(f"limit must be at least 1, not {most}")
    if undecodable not in ("raise", "skip"):
        raise ValueError(f"undecodable must be 'raise' or 'skip', not {undecodable!r}")
    accepts = item_test(path, where)
    if parts.only is None:
        return Wanted(accepts, undecodable, most, whole=parts.whole)
    if parts.whole:
        raise ValueError("use only= or whole=, not both")
    return Wanted(accepts, undecodable, most, OnlyFields(path, parts.only, needs_rows=accepts is not None))


def item_test(path: Path[Any], where: Where | None) -> ItemTest | None:
    """The test of the filter on decoded items; None if the store's filter is enough."""
    wanted = None if where is None or requires_nothing(where) else QueryFilter(path, where)
    return None if wanted is None or wanted.is_exact else wanted.accepts

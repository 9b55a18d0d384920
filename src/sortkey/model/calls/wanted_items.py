"""Which of the rows that the store returns become items, and which parts of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from sortkey.client.boto3_shapes import Unparsed
from sortkey.model.calls.item_decoder import (
    Decoded,
    ItemTest,
    Undecodable,
    count_path_items,
    decode_path_items,
    decode_path_parts,
)
from sortkey.model.calls.only_fields import OnlyFields
from sortkey.model.calls.skipped_rows import report_others, report_undecodable
from sortkey.model.changes.conditions import Where, requires_nothing
from sortkey.model.changes.query_filter import QueryFilter
from sortkey.model.changes.typed_field import FieldName
from sortkey.model.costs.meter import Meter
from sortkey.model.items.access_path import AccessPath

_FILTERED_LIMIT: Final = 100
"""The least Limit of a request of whose rows a filter may drop most."""


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

    def limit(self, items: int, query: Mapping[str, Any]) -> int:
        """The Limit of a request for this many items: the store, or the session, may drop rows of it."""
        return max(items, _FILTERED_LIMIT) if self.accepts is not None or "FilterExpression" in query else items

    def less(self, items: int) -> Wanted:
        """The same after this many items."""
        return self if self.most is None else self._replace(most=self.most - items)


def decode_wanted(meter: Meter, path: AccessPath[Any], stored: Unparsed, wanted: Wanted) -> Decoded:
    """The wanted items among the rows of an answer; reports rows that no class recognises, and those left out."""
    if wanted.only is None:
        found = decode_path_items(path, stored, wanted.accepts, wanted.undecodable)
    else:
        found = _decode_only(path, stored, wanted, wanted.only)
    if found.others:
        report_others(meter, path.name, path.schema, found.others)
    if found.errors:
        report_undecodable(meter, path.name, found.errors)
    return found if wanted.only is None else found._replace(items=list(map(wanted.only.shown, found.items)))


def count_wanted(meter: Meter, path: AccessPath[Any], stored: Unparsed, wanted: Wanted) -> int:
    """How many items `decode_wanted` returns."""
    found = count_path_items(path, stored) if wanted.accepts is None else None
    return len(decode_wanted(meter, path, stored, wanted).items) if found is None else found


def _decode_only(path: AccessPath[Any], stored: Unparsed, wanted: Wanted, only: OnlyFields) -> Decoded:
    if only.needs_rows:
        return decode_path_items(path, stored, wanted.accepts, wanted.undecodable)
    return decode_path_parts(path, stored, only.reader, only.decode, wanted.undecodable)


class Parts(NamedTuple):
    """Which parts of the items a read returns: `only=` and `whole=`."""

    only: Iterable[FieldName] | None = None
    whole: bool = False


ALL_PARTS: Final = Parts()


def wanted_items(
    path: AccessPath[Any],
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
    only = OnlyFields(path, parts.only, needs_rows=accepts is not None)
    return Wanted(accepts, undecodable, most, only)


def item_test(path: AccessPath[Any], where: Where | None) -> ItemTest | None:
    """The test of the filter on decoded items; None if the store's filter is enough."""
    return None if where is None or requires_nothing(where) else QueryFilter(path, where).accepts

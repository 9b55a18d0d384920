"""What an item counts for: its *shares*, one for each item of the aggregate that it belongs to.

    Favourite(user="ada", restaurant="nopi", since=24 August 2026)
        ("nopi", "ALL_TIME"): (1,)      ("nopi", "2026-08"): (1,)      ("nopi", "2026-08-24"): (1,)

The tuple on the left is the *group*, the fields of the aggregate item's key; on the right are its values. Pure, but for
the time, which is an argument: windows that are no longer kept get no shares.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final

from sortkey.model.changes.conditions import Where, requires_nothing
from sortkey.model.changes.requirements import Requirement
from sortkey.model.errors import DeclarationError, suggestion
from sortkey.model.items.item import Item, schema_of
from sortkey.model.items.schema import Schema
from sortkey.patterns.aggregates.extremes import Extreme, Kept
from sortkey.patterns.aggregates.ranges import AnyWindow
from sortkey.patterns.aggregates.step import Group, Share

Shares = Mapping[Group, Share]
By = Mapping[str, str | Callable[[Any], Any]]
"""The fields of an aggregate's items, and the field of the counted items that each is taken from, or a function."""

NOTHING: Final[Shares] = {}
_CACHED_WINDOWS: Final = 4096


class Source:
    """The items that an aggregate counts."""

    def __init__(
        self, counted: type[Item], target: Schema[Any], by: By, window: AnyWindow | None, values: Mapping[str, Kept]
    ) -> None:
        self.schema = schema_of(counted)
        self.counted = counted
        self.window = window
        self._groups = [self._reader(read) for read in by.values()]
        fields = target.codec.by_name
        self._values = [
            value.reader() if isinstance(value, Extreme) else value.reader(fields[name].annotation)
            for name, value in values.items()
        ]
        self._accepts: Callable[[Any], bool] | None = None
        if window is not None:
            field = self.schema.codec.by_name[self._known(window.of)]
            window.check(f"{self.schema.name}.{window.of}", field.annotation.declared)
            self._divided = attrgetter(window.of)
            self._expiry = lru_cache(_CACHED_WINDOWS)(window.expiry)

    def only(self, where: Where | None) -> None:
        """Counts only the items that match."""
        if not requires_nothing(where):
            self._accepts = Requirement(self.schema, where, {}).accepts

    def shares(self, item: Any, now: datetime) -> Shares:
        """The shares of an item; none if it is not of the class, does not match, or lacks a field of the group. Raises
        ValueError for a time without a zone."""
        if not isinstance(item, self.counted) or (self._accepts is not None and not self._accepts(item)):
            return NOTHING
        group = tuple([read(item) for read in self._groups])
        if None in group:
            return NOTHING
        share = tuple([read(item) for read in self._values])
        if self.window is None:
            return {group: share}
        windows = self.window.windows(self._divided(item))
        if not self.window.keep:
            return {group + window: share for window in windows}
        return {group + window: share for window in windows if self._is_kept(window[-1], now)}

    def _is_kept(self, window: Any, now: datetime) -> bool:
        expiry = self._expiry(window)
        return expiry is None or expiry > now

    def _reader(self, read: str | Callable[[Any], Any]) -> Callable[[Any], Any]:
        return read if callable(read) else attrgetter(self._known(read))

    def _known(self, field: str) -> str:
        fields = self.schema.codec.by_name
        if field not in fields:
            raise DeclarationError(f"{self.schema.name} has no field {field!r}{suggestion(field, fields)}")
        return field

"""What the service takes and answers, the same for REST, GraphQL and programs.

Amounts are Decimals with two decimals. Instants are in UTC.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Final, Generic, NamedTuple, TypeVar

import msgspec

ALL_CHANNELS: Final = "ALL"
"""The channel of prices that do not depend on one. It is a channel as any other: a question names one."""

T = TypeVar("T")


class PriceKind(StrEnum):
    BASE = "BASE"
    SWAP = "SWAP"
    """The product is `COMBO#OPTION`: what it costs to take the option in the combo."""


class PriceAction(StrEnum):
    SET = "SET"
    DELETE = "DELETE"


class ChangeStatus(StrEnum):
    SCHEDULED = "SCHEDULED"
    APPLIED = "APPLIED"
    """Its instant has come. It needs no scheduler for that."""
    CANCELLED = "CANCELLED"


class PriceKey(NamedTuple):
    """What has one price at a time."""

    store: str
    channel: str
    kind: PriceKind
    product: str


class Price(msgspec.Struct, frozen=True, rename="camel", gc=False):
    store: str
    product: str
    channel: str
    kind: PriceKind
    amount: Decimal
    currency: str
    effective_from: datetime


class PriceChange(msgspec.Struct, frozen=True, rename="camel", gc=False):
    id: str
    store: str
    product: str
    channel: str
    kind: PriceKind
    action: PriceAction
    amount: Decimal | None
    """None for DELETE."""
    effective_at: datetime
    status: ChangeStatus


class PriceRecord(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A change that has taken effect."""

    store: str
    product: str
    channel: str
    kind: PriceKind
    action: PriceAction
    amount: Decimal | None
    previous_amount: Decimal | None
    """What was in force until then; None if nothing was."""
    effective_at: datetime
    requested_by: str | None
    recorded_at: datetime
    """When the change was accepted."""


class ChangeInput(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A change as it is asked for. `change_prices` checks it, so that one answer lists every mistake of a request."""

    store: str
    product: str
    channel: str = ALL_CHANNELS
    kind: str = PriceKind.BASE
    action: str = PriceAction.SET
    amount: Decimal | int | float | str | None = None
    currency: str | None = None
    effective_at: datetime | str | None = None
    """None: now."""


CursorMaker = tuple[Callable[[int], str], int]
"""A function and its argument: quicker to make than a function without one, for each item of a page."""


class Connection(Generic[T]):
    """A page: its items in the order of the list, and a cursor for each, which is made when it is asked for."""

    def __init__(
        self,
        items: list[T],
        cursors: Sequence[CursorMaker],
        *,
        has_next: bool,
        has_previous: bool,
        ends: tuple[CursorMaker | None, CursorMaker | None] | None = None,
    ) -> None:
        """`ends` are the cursors that neighbouring pages go on from, if they are not those of the first and the last
        item."""
        self.items = items
        self.has_next = has_next
        self.has_previous = has_previous
        self._prefix = ""
        self._cursors = cursors
        self._ends = ends or ((cursors[0], cursors[-1]) if cursors else (None, None))

    def __len__(self) -> int:
        return len(self.items)

    def cursor(self, index: int) -> str:
        return self._made(self._cursors[index])

    @property
    def start_cursor(self) -> str | None:
        return None if self._ends[0] is None else self._made(self._ends[0])

    @property
    def end_cursor(self) -> str | None:
        return None if self._ends[1] is None else self._made(self._ends[1])

    def _made(self, maker: CursorMaker) -> str:
        cursor, index = maker
        return self._prefix + cursor(index)

    def with_prefix(self, prefix: str) -> Connection[T]:
        """The same page, whose cursors begin with this text."""
        made = Connection(
            self.items, self._cursors, has_next=self.has_next, has_previous=self.has_previous, ends=self._ends
        )
        made._prefix = prefix
        return made

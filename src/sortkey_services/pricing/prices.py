"""Prices, changes of them and their history: one type each, for programs, GraphQL and REST.

Amounts have two decimals, and rows have them in cents. Instants are in UTC, and whole microseconds since 1970 in rows
and comparisons.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from typing import Final, Generic, NamedTuple, TypeVar

import msgspec

ALL_CHANNELS: Final = "ALL"
"""The channel of prices that do not depend on one. It is a channel as any other: a question names one."""
SECOND: Final = 1_000_000

_START: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)

Amount = TypeVar("Amount", bound=Decimal | float)
"""With two decimals. REST has numbers, so its prices are those of the service with a float."""


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


class StepKind(StrEnum):
    RESCHEDULED = "RESCHEDULED"
    CANCELLED = "CANCELLED"


class Requester(NamedTuple):
    """Who asks for something."""

    claimed: str | None = None
    """What the request says: `requestedBy`."""
    caller: str | None = None
    """The name of the request's token, which a client cannot choose; None without tokens."""


class PriceKey(NamedTuple):
    """What has one price at a time."""

    store: str
    channel: str
    kind: PriceKind
    product: str


class Price(msgspec.Struct, Generic[Amount], frozen=True, rename="camel", gc=False):
    store: str
    product: str
    channel: str
    kind: PriceKind
    amount: Amount
    currency: str
    effective_from: datetime


class ChangeStep(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """What was done with a change before it took effect."""

    step: StepKind
    effective_at: datetime | None
    """None for CANCELLED."""
    previous_effective_at: datetime
    requested_by: str | None
    caller: str | None
    recorded_at: datetime | None
    """None if an earlier version has cancelled the change."""


class PriceChange(msgspec.Struct, Generic[Amount], frozen=True, rename="camel", gc=False):
    id: str
    store: str
    product: str
    channel: str
    kind: PriceKind
    action: PriceAction
    amount: Amount | None
    """None for DELETE."""
    effective_at: datetime
    status: ChangeStatus
    requested_by: str | None
    caller: str | None
    recorded_at: datetime
    """When the change was accepted."""
    history: list[ChangeStep]
    """What was done with it since, in order of time."""


class PriceRecord(msgspec.Struct, Generic[Amount], frozen=True, rename="camel", gc=False):
    """A change that has taken effect."""

    id: str | None
    """Of the change; None for a loaded price."""
    store: str
    product: str
    channel: str
    kind: PriceKind
    action: PriceAction
    amount: Amount | None
    previous_amount: Amount | None
    """What was in force until then; None if nothing was."""
    effective_at: datetime
    requested_by: str | None
    caller: str | None
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
    """Without an offset, local to the store. None: now."""


def kind_of(product: str) -> PriceKind:
    """Which kind of price a product has, where a question does not say: only a SWAP's product has a `#`."""
    return PriceKind.SWAP if "#" in product else PriceKind.BASE


@lru_cache(maxsize=65_536)
def amount_of(cents: int) -> Decimal:
    # Not scaleb, which rounds.
    return Decimal(f"{cents}E-2")


def micros_of(instant: datetime) -> int:
    return (instant - _START) // _MICROSECOND


@lru_cache(maxsize=16_384)
def instant_of(micros: int) -> datetime:
    # Many prices have the same instant: that of a load, or a midnight.
    return _START + micros * _MICROSECOND


def is_instant(micros: int) -> bool:
    """Whether a datetime can have it: another program may have written anything."""
    try:
        instant_of(micros)
    except OverflowError:
        return False
    return True


def micros_at(seconds: float) -> int:
    """Of a clock's seconds since 1970."""
    return round(seconds * SECOND)

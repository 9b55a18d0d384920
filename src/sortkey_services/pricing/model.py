"""The items: a price with its timeline, a change, and a batch of changes.

    prices          PriceRow     STORE#{store}           {channel}#{kind}#{product}   what does a store's product cost
      its index     by_product   TYPE#{kind}#{product}   {channel}#{store}            what does it cost in all stores
                    StoreRow     STORES                  {store}                      which time zone has a store

    price-changes   ChangeRow    STORE#{store}           {effective_at}#{number}      a store's changes, by time
      its index     of_product   {store}#{channel}#{kind}#{product}
                                                         {effective_at}#{number}      the history of a price
                    StoreUpdate  UPDATED#{store}         {effective_at}               what is permanent
                    Batch        BATCH#{batch}           BATCH                        was a request accepted

A price has one row, whatever is scheduled. The row is a *timeline*: the base entry in the row's own attributes, and
later entries in a list, which most rows do not have. A read finds the newest entry not after its instant, so that no
price depends on a scheduler. A change is an entry of its price's row, and a row of its own for the lists by time. The
transition (`transition.py`) drops entries that are no longer in force from it; their own rows are the history.

A change that is moved to another instant has another row from then on, since its instant is in the key. Callers go on
naming it by its first row, which says where it is.

Many changes of one request are a *batch*: their entries name it, and count if and when the batch is committed, which is
one write. On a store without transactions, each change is a batch, and so is what takes a change out again: its entry
and its row name the batch that they leave with. Prices have no stream: only changes have followers, so that loading
millions of prices costs nothing more.
"""

from __future__ import annotations

from datetime import datetime
from hashlib import blake2b
from typing import Annotated, Final, Literal

import msgspec

import sortkey as sk
from sortkey_services.pricing.prices import PriceKey, PriceKind, StepKind, instant_of

PRICES: Final = sk.Table("prices")
CHANGES: Final = sk.Table("price-changes", stream="NEW_AND_OLD_IMAGES")

LOADED: Final = "0"
"""What numbers of loaded prices begin with: they come before all changes of the same instant."""


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A change in a timeline. Instants are microseconds since 1970."""

    at: int
    number: str
    """Of the change. Of two entries with the same instant, the one with the higher number is newer."""
    cents: int | None
    """None: the price is deleted."""
    by: str | None
    recorded: int
    batch: str | None = None
    """Counts only if this batch is committed."""
    on_commit: bool | None = None
    """Takes effect when its batch is committed, not at `at`, when the request came."""
    gap: bool | None = None
    """Older entries were left out of the row. What was in force before this one, only the history tells."""
    caller: str | None = None
    leaves_with: str | None = None
    """Counts no longer once this batch is committed."""


class PriceRow(sk.Item, table=PRICES):
    store: Annotated[str, sk.in_key]
    channel: Annotated[str, sk.in_key]
    kind: Annotated[PriceKind, sk.in_key]
    product: Annotated[str, sk.in_key]
    cents: int | None = None
    """The base entry: an amount, since an instant in microseconds since 1970. A row whose first price is to come has
    none."""
    since: int | None = None
    entries: list[Entry] | None = None
    """Newer than the base entry, in order of time."""
    number: str | None = None
    """The change that the base entry is from; None for a loaded price that was never changed."""
    by: str | None = None
    recorded: int | None = None
    older: bool | None = None
    """Whether the history has entries that are older than the base."""
    version: int | None = None

    key = sk.Key("STORE#{store}", "{channel}#{kind}#{product}")
    by_product = sk.Index("gsi1", "TYPE#{kind}#{product}", "{channel}#{store}")


class StoreRow(sk.Item, table=PRICES):
    """A store with a time zone of its own."""

    store: Annotated[str, sk.in_key]
    time_zone: str

    key = sk.Key("STORES", "{store}")


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was done with a change. Instants are microseconds since 1970."""

    kind: StepKind
    recorded: int
    before: int
    """When the change would have taken effect."""
    after: int | None = None
    """When it takes effect now; None: never."""
    by: str | None = None
    caller: str | None = None


class Departure(msgspec.Struct, frozen=True, omit_defaults=True):
    """What becomes of a change that departs: it is cancelled, or moved to another row."""

    steps: list[Step] | None = None
    moved_to: str | None = None


class ChangeRow(sk.Item, table=CHANGES):
    store: Annotated[str, sk.in_key]
    effective_at: Annotated[datetime, sk.in_key]
    number: Annotated[str, sk.in_key]
    channel: str
    kind: PriceKind
    product: str
    cents: int | None
    """None: the price is deleted."""
    recorded: int
    status: Literal["SCHEDULED", "APPLIED", "CANCELLED"] = "SCHEDULED"
    """SCHEDULED until the transition has made it permanent; readers go by the instant."""
    by: str | None = None
    batch: str | None = None
    previous: int | None = None
    """The amount before, noted by the transition."""
    cancelled_by: str | None = None
    """In rows of earlier versions, which have no steps."""
    caller: str | None = None
    steps: list[Step] | None = None
    """In order of time."""
    first: str | None = None
    """The id of its first row, by which callers name a change that was moved."""
    moved_to: str | None = None
    """In a row that is CANCELLED because the change was moved: the id of the row where it is now."""
    departs_with: str | None = None
    """Departs when this batch is committed. None again when that is noted."""
    departure: Departure | None = None

    key = sk.Key("STORE#{store}", "{effective_at}#{number}")
    of_product = sk.Index("history", "{store}#{channel}#{kind}#{product}", "{effective_at}#{number}")


TRANSITIONS: Final = sk.patterns.schedule(
    "price-transitions", ChangeRow, at="effective_at", by=("store",), where={"status": "SCHEDULED"}
)
"""One timer for all changes of a store at an instant."""


class StoreUpdate(sk.Item, table=CHANGES):
    """That changes of a store at an instant are permanent; the events of stores follow from it."""

    store: Annotated[str, sk.in_key]
    effective_at: Annotated[datetime, sk.in_key]
    changes: int = 0
    channels: set[str] = sk.field(default_factory=set)

    key = sk.Key("UPDATED#{store}", "{effective_at}")


class Batch(sk.Item, table=CHANGES):
    batch: Annotated[str, sk.in_key]
    status: Literal["OPEN", "COMMITTED", "ABORTED"]
    opened: int
    changes: int
    committed: int | None = None

    key = sk.Key("BATCH#{batch}", "BATCH")


def loaded_price(key: PriceKey, cents: int, since: int) -> PriceRow:
    """The row of a price with nothing to come. `since` is in microseconds since 1970."""
    return PriceRow(store=key.store, channel=key.channel, kind=key.kind, product=key.product, cents=cents, since=since)


def loaded_number(key: PriceKey) -> str:
    """Of a loaded price among the changes: a store may have many with the same instant."""
    return f"{LOADED}.{blake2b(repr(tuple(key)).encode(), digest_size=16).hexdigest()}"


def loaded_change(key: PriceKey, since: int, cents: int | None) -> ChangeRow:
    """A loaded price among the changes, for the history: before all changes of the same instant."""
    return ChangeRow(
        store=key.store,
        effective_at=instant_of(since),
        number=loaded_number(key),
        channel=key.channel,
        kind=key.kind,
        product=key.product,
        cents=cents,
        recorded=since,
        status="APPLIED",
    )


def price_path(key: PriceKey) -> sk.AccessPath[PriceRow]:
    return PriceRow.key(store=key.store, channel=key.channel, kind=key.kind, product=key.product)


def history_path(key: PriceKey) -> sk.AccessPath[ChangeRow]:
    return ChangeRow.of_product(store=key.store, channel=key.channel, kind=key.kind, product=key.product)


def key_of(row: PriceRow | ChangeRow) -> PriceKey:
    return PriceKey(row.store, row.channel, row.kind, row.product)

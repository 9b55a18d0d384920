"""REST's answers: the same as GraphQL's, with amounts as numbers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import TypeVar

import msgspec

from sortkey.services.pages import PageAnswer, PageInfo
from sortkey_services.pricing.types import (
    ChangeStatus,
    Connection,
    Price,
    PriceAction,
    PriceChange,
    PriceKind,
    PriceRecord,
)

T = TypeVar("T")
A = TypeVar("A")


class PriceAnswer(msgspec.Struct, frozen=True, rename="camel", gc=False):
    store: str
    product: str
    channel: str
    kind: PriceKind
    amount: float
    currency: str
    effective_from: datetime


class ChangeAnswer(msgspec.Struct, frozen=True, rename="camel", gc=False):
    id: str
    store: str
    product: str
    channel: str
    kind: PriceKind
    action: PriceAction
    amount: float | None
    effective_at: datetime
    status: ChangeStatus


class RecordAnswer(msgspec.Struct, frozen=True, rename="camel", gc=False):
    store: str
    product: str
    channel: str
    kind: PriceKind
    action: PriceAction
    amount: float | None
    previous_amount: float | None
    effective_at: datetime
    requested_by: str | None
    recorded_at: datetime


class ChangesAnswer(msgspec.Struct, frozen=True):
    ids: list[str]


def price_answer(price: Price) -> PriceAnswer:
    return PriceAnswer(
        price.store,
        price.product,
        price.channel,
        price.kind,
        float(price.amount),
        price.currency,
        price.effective_from,
    )


def change_answer(change: PriceChange) -> ChangeAnswer:
    return ChangeAnswer(
        change.id,
        change.store,
        change.product,
        change.channel,
        change.kind,
        change.action,
        _number(change.amount),
        change.effective_at,
        change.status,
    )


def record_answer(record: PriceRecord) -> RecordAnswer:
    return RecordAnswer(
        record.store,
        record.product,
        record.channel,
        record.kind,
        record.action,
        _number(record.amount),
        _number(record.previous_amount),
        record.effective_at,
        record.requested_by,
        record.recorded_at,
    )


def connection_answer(page: Connection[T], shown: Callable[[T], A]) -> PageAnswer[A]:
    info = PageInfo(page.has_next, page.has_previous, page.start_cursor, page.end_cursor)
    return PageAnswer([shown(item) for item in page.items], info)


def _number(amount: Decimal | None) -> float | None:
    """An amount has so few digits that its number has the same two decimals."""
    return None if amount is None else float(amount)

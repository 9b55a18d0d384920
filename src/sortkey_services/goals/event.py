"""A deposit event, as HTTP and feeds deliver it, and its validation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Final

import msgspec
from msgspec import Meta

import sortkey as sk
from sortkey_services.goals.model import PENDING, DepositStatus
from sortkey_services.goals.months import is_month

MAX_ID_BYTES: Final = 256
"""In UTF-8. Ids are parts of keys."""
MAX_EVENTS: Final = 10_000
MAX_BALANCE: Final = 1_000_000_000_000
"""Balances are below it: a float still tells their cents apart."""
NO_CHARACTER: Final = "\U0010ffff"
"""Keys cannot have it: ranges of keys end with it."""


class DepositEvent(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    event_id: str
    person_id: str
    goal_id: str
    current_balance: float | str | None = None
    """At most two decimals; as a number, or as a text such as 370.00. A rejection needs none; of one that has it, it is
    the balance without the deposit."""
    status: DepositStatus
    updated_at: Annotated[datetime, Meta(tz=True)]
    contribution_id: str | None = None
    """Tells which deposit a rejection takes away."""
    month: str | None = None
    """As 2026-05: the month that the deposit is for, if not that of `updatedAt`."""

    @property
    def balance_cents(self) -> int | None:
        """Of an event without errors."""
        return None if self.current_balance is None else int(Decimal(str(self.current_balance)) * 100)


Events = Annotated[tuple[DepositEvent, ...], Meta(min_length=1, max_length=MAX_EVENTS)]

_AMOUNT: Final = re.compile(r"(?a)\d{1,12}(\.\d{1,2})?")
_message: Final = msgspec.json.Decoder(DepositEvent)


def read_message(value: bytes | None) -> DepositEvent:
    """Decodes and checks a feed's message. Raises BadRequest."""
    if value is None:
        raise sk.services.BadRequest("the message is empty")
    try:
        event = _message.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise sk.services.BadRequest(f"not a deposit event: {error}") from None
    for wrong in errors_in_event(event):
        raise sk.services.BadRequest(f"not a deposit event: {wrong}")
    return event


def check_events(given: DepositEvent | Sequence[DepositEvent]) -> Sequence[DepositEvent]:
    """The events of a request. Raises BadRequest if one of them is invalid."""
    if isinstance(given, DepositEvent):
        errors = list(errors_in_event(given))
        given = (given,)
    else:
        errors = [f"[{index}].{error}" for index, event in enumerate(given) for error in errors_in_event(event)]
    if errors:
        raise sk.services.BadRequest(f"not a deposit event: {errors[0]}", errors)
    return given


def errors_in_event(event: DepositEvent) -> Iterator[str]:
    """Errors that the types do not catch, each with its field."""
    for name, value in (
        ("eventId", event.event_id),
        ("personId", event.person_id),
        ("goalId", event.goal_id),
        ("contributionId", event.contribution_id),
    ):
        error = None if value is None else error_in_id(value)
        if error is not None:
            yield f"{name}: {error}"
    if event.current_balance is None and event.status == PENDING:
        yield "currentBalance: missing; a pending balance needs it"
    elif event.current_balance is not None and not _is_amount(event.current_balance):
        yield (
            f"currentBalance: must be an amount with at most two decimals, from 0 to below {MAX_BALANCE:,}, "
            f"not {f'{event.current_balance!s:.40}'}"
        )
    if event.month is not None and not is_month(event.month):
        yield f"month: must be a month such as 2026-05, not {f'{event.month!r:.40}'}"
    try:
        event.updated_at.astimezone(UTC)
    except OverflowError:
        yield "updatedAt: out of range"


def _is_amount(given: float | str) -> bool:
    # A float's shortest text is what the request said.
    return _AMOUNT.fullmatch(str(given)) is not None


def error_in_id(value: str) -> str | None:
    """Why no key can hold an id; None if one can."""
    if not value:
        return "empty"
    if NO_CHARACTER in value:
        return "contains U+10FFFF, which is not a character"
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        return "contains half of a surrogate pair"
    return f"longer than {MAX_ID_BYTES} bytes" if size > MAX_ID_BYTES else None

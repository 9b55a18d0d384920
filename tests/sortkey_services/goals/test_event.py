"""Deposit events: what is accepted."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

import sortkey as sk
from sortkey_services.goals.event import DepositEvent, check_events, read_message
from tests.sortkey_services.goals.persons import deposit

EVENT: dict[str, Any] = {
    "eventId": "e1",
    "personId": "ana",
    "goalId": "SAVINGS_ACCOUNT",
    "currentBalance": 370.00,
    "status": "PENDING_CONFIRMATION",
    "updatedAt": "2026-05-15T14:23:00Z",
}


def read(**changes: Any) -> DepositEvent:
    return read_message(msgspec.json.encode(EVENT | changes))


@pytest.mark.parametrize(
    ("balance", "cents"), [(370.00, 37_000), ("370.00", 37_000), (0, 0), (0.1, 10), ("999999999999.99", 99999999999999)]
)
def test_a_balance_is_a_number_or_a_text(balance: float | str, cents: int) -> None:
    assert read(currentBalance=balance).balance_cents == cents


def test_a_rejection_needs_no_balance() -> None:
    without = {name: value for name, value in EVENT.items() if name != "currentBalance"}
    assert read_message(msgspec.json.encode(without | {"status": "REJECTED"})).balance_cents is None
    with pytest.raises(sk.services.BadRequest, match="currentBalance: missing; a pending balance needs it"):
        read_message(msgspec.json.encode(without))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"currentBalance": 1.234}, "currentBalance: must be an amount with at most two decimals, from 0 .* not 1.234"),
        ({"currentBalance": -1}, "currentBalance: must be an amount .* not -1"),
        ({"currentBalance": "NaN"}, "currentBalance: must be an amount .* not NaN"),
        ({"currentBalance": "1e400"}, "currentBalance: must be an amount .* not 1e400"),
        ({"currentBalance": 10**12}, "below 1,000,000,000,000, not 1000000000000"),
        ({"currentBalance": "much"}, "currentBalance: must be an amount .* not much"),
        ({"currentBalance": "1_0"}, "currentBalance: must be an amount .* not 1_0"),
        ({"currentBalance": " 1"}, "currentBalance: must be an amount .* not  1"),
        ({"currentBalance": True}, "Expected `float | str | null`, got `bool` - at `.*currentBalance`"),
        ({"eventId": ""}, "eventId: empty"),
        ({"personId": "x" * 257}, "personId: longer than 256 bytes"),
        ({"personId": "漢" * 86}, "personId: longer than 256 bytes"),
        ({"personId": "\U0010ffff"}, "personId: contains U\\+10FFFF, which is not a character"),
        ({"contributionId": ""}, "contributionId: empty"),
        ({"month": "2026-13"}, "month: must be a month such as 2026-05, not '2026-13'"),
        ({"month": "May"}, "month: must be a month such as 2026-05, not 'May'"),
        ({"status": "CONFIRMED"}, "Invalid enum value 'CONFIRMED' - at `.*status`"),
        ({"updatedAt": "2026-05-15T14:23:00"}, "Expected `datetime` with a timezone component - at `.*updatedAt`"),
        ({"updatedAt": "0001-01-01T00:00:00+10:00"}, "updatedAt: out of range"),
    ],
)
def test_a_bad_event_is_rejected_with_its_field(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(sk.services.BadRequest, match=message):
        read(**changes)


def test_every_mistake_of_a_list_is_named() -> None:
    events = [deposit(), deposit(event=""), deposit(balance="-1", to="")]
    with pytest.raises(sk.services.BadRequest) as raised:
        check_events(events)
    assert [each.partition(":")[0] for each in raised.value.details] == [
        "[1].eventId",
        "[2].personId",
        "[2].currentBalance",
    ]

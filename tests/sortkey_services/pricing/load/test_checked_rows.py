"""A row of a file is judged as a request with the same change is."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

import sortkey as sk
from sortkey_services.pricing.checks import ChangeChecks
from sortkey_services.pricing.load import file_check
from sortkey_services.pricing.load.file_check import RowCheck, change_of
from sortkey_services.pricing.load.price_files import COLUMNS
from sortkey_services.pricing.prices import PriceKind, micros_of

NOW = datetime(2026, 8, 24, 12, tzinfo=UTC)
SINCE = micros_of(NOW)


def raw(**values: Any) -> Any:
    given = {"store": "7", "product": "P1", "amount": "1.50", **values}
    return tuple(given.get(name) for name in COLUMNS)


@pytest.fixture
def check() -> RowCheck:
    return RowCheck("EUR", SINCE)


def test_a_price_from_now_on(check: RowCheck) -> None:
    assert check.direct(raw()) == ("7", "ALL", PriceKind.BASE, "P1", 150, SINCE)


def test_all_columns(check: RowCheck) -> None:
    row = raw(
        channel="WEB", kind="SWAP", product="C1#O1", action="SET", currency="EUR", effectiveAt="2026-08-24T10:00Z"
    )
    assert check.direct(row) == ("7", "WEB", PriceKind.SWAP, "C1#O1", 150, micros_of(NOW.replace(hour=10)))


@pytest.mark.parametrize("amount", ["2", "2.0", "2.00", 2, 2.0, Decimal("2.00"), Decimal(2)])
def test_amounts_of_all_formats(check: RowCheck, amount: Any) -> None:
    found = check.direct(raw(amount=amount))
    assert found is not None
    assert found[4] == 200


@pytest.mark.parametrize(
    "values",
    [
        {"action": "DELETE", "amount": None},
        {"effectiveAt": "2026-08-24T12:00:01Z"},
        {"effectiveAt": NOW.replace(hour=13)},
    ],
)
def test_changes_are_not_direct_and_have_no_mistakes(check: RowCheck, values: dict[str, Any]) -> None:
    assert check.direct(raw(**values)) is None
    assert check.mistakes(raw(**values)) == []


@pytest.mark.parametrize(
    "values",
    [
        {"store": None},
        {"store": "a/b"},
        {"store": "x" * 1000},
        {"product": None},
        {"product": "one", "kind": "SWAP"},
        {"kind": "base"},
        {"action": "PUT"},
        {"channel": "x" * 1000},
        {"currency": "USD"},
        {"amount": None},
        {"amount": "1,50"},
        {"amount": "1.505"},
        {"amount": -1},
        {"amount": float("nan")},
        {"amount": 1e300},
        {"amount": "1.50", "action": "DELETE"},
        {"effectiveAt": "yesterday"},
        {"effectiveAt": "2026-08-24T10:00:00"},
        {"effectiveAt": "1970-01-01T00:00:00Z"},
        {"store": None, "product": None, "amount": "x"},
    ],
)
def test_mistakes_are_those_of_a_request(check: RowCheck, values: dict[str, Any]) -> None:
    row = raw(**values)
    assert check.direct(row) is None
    with pytest.raises(sk.services.BadRequest) as error:
        asyncio.run(ChangeChecks("EUR").checked([change_of(row)], SINCE))
    assert check.mistakes(row) == [detail.removeprefix("[0].") for detail in error.value.details]


# A reader of text cannot decode it, and keeps the byte as half of a surrogate pair.
def test_a_row_that_is_not_utf_8(check: RowCheck) -> None:
    row = raw(store="P\udcff", product="X\udc80")
    assert check.direct(row) is None
    assert check.mistakes(row) == ["store: is not UTF-8", "product: is not UTF-8"]


# A product that is right as BASE is wrong as SWAP; the memory of one must not answer for the other.
def test_what_is_remembered_depends_on_the_kind(check: RowCheck) -> None:
    assert check.direct(raw(product="P1")) is not None
    assert check.direct(raw(product="P1", kind="SWAP")) is None
    assert check.direct(raw(product="P1", kind="BASE")) is not None


def test_what_is_remembered_is_bounded(check: RowCheck, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_check, "REMEMBERED", 10)
    for number in range(100):
        found = check.direct(raw(store=str(number)))
        assert found is not None
        assert found[0] == str(number)
    assert len(check._stores) <= 10

"""What a request of changes may say: every mistake is named, by the index of its change and the name of its field."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

import sortkey as sk
from sortkey_services.pricing.checks import MAX_CHANGES, NAMED_MISTAKES, ChangeChecks, Mistake, cents_of, effective_at
from sortkey_services.pricing.prices import ChangeInput, PriceKey, PriceKind, instant_of, micros_of

NOON = datetime(2026, 8, 24, 12, tzinfo=UTC)
GOOD: Mapping[str, object] = {"store": "s1", "product": "P1", "amount": "9.90"}

CHECKS = ChangeChecks("EUR")


def mistakes(*given: object) -> tuple[str, ...]:
    with pytest.raises(sk.services.BadRequest) as rejected:
        asyncio.run(CHECKS.checked(given, micros_of(NOON)))  # type: ignore[arg-type]  # JSON has anything.
    return rejected.value.details


@pytest.mark.parametrize(
    ("amount", "cents"),
    [("9.9", 990), ("0", 0), (9.9, 990), (9, 900), (0.29, 29), (Decimal("1E+2"), 10000), ("999999999.99", 99999999999)],
)
def test_amounts_are_exact(amount: str | float | Decimal, cents: int) -> None:
    assert cents_of(amount) == cents


@pytest.mark.parametrize(
    "amount",
    ["", "9.999", "-1", -1, 9.999, "1e2", "ten", True, [], {}, float("nan"), float("inf"), 1e10, Decimal("1E+999999")],
)
def test_another_amount_is_a_mistake(amount: object) -> None:
    (mistake,) = mistakes({**GOOD, "amount": amount})
    assert mistake.startswith("[0].amount: must be from 0 to 999999999.99, with at most two decimals, not ")


@pytest.mark.parametrize(
    ("field", "value", "mistake"),
    [
        ("store", "", "store: must have 1 to 128 bytes, not 0"),
        ("store", 7, "store: must be a text, not 7"),
        ("store", None, "store: must be a text, not None"),
        ("store", "\ud800", "store: must be a text of whole characters, not half of a surrogate pair"),
        ("product", "x" * 129, "product: must have 1 to 128 bytes, not 129"),
        ("product", "a/b", "product: must not contain / or U+10FFFF"),
        (
            "product",
            "a#b",
            "product: 'a#b' has a #, which stands between a combo and its option; for the price of an option, send "
            "kind SWAP and COMBO#OPTION, otherwise write the product's id with another sign",
        ),
        ("channel", "x" * 33, "channel: must have 1 to 32 bytes, not 33"),
        ("kind", "base", "kind: must be BASE or SWAP, not 'base'"),
        ("kind", ["BASE"], "kind: must be BASE or SWAP, not ['BASE']"),
        ("kind", "SWAP", "product: of a SWAP it must be COMBO#OPTION, not 'P1'"),
        ("action", "REMOVE", "action: must be SET or DELETE, not 'REMOVE'"),
        ("action", "DELETE", "amount: must be left out of a DELETE"),
        ("amount", None, "amount: is missing"),
        ("currency", "USD", "currency: must be EUR, not 'USD'"),
        (
            "effectiveAt",
            "soon",
            "effectiveAt: must be an instant with an offset, such as 2026-08-24T12:30:00+02:00, not 'soon'",
        ),
        (
            "effectiveAt",
            "1999-12-31T00:00:00Z",
            "effectiveAt: must be from 2000 to 2036-08-31, not '1999-12-31T00:00:00Z'",
        ),
        (
            "effectiveAt",
            "2126-01-01T00:00:00Z",
            "effectiveAt: must be from 2000 to 2036-08-31, not '2126-01-01T00:00:00Z'",
        ),
        ("effectiveAt", "0001-01-01T00:00:00+23:00", "effectiveAt: out of range"),
        (
            "price",
            1,
            "price: is not a field of a change, which has store, product, channel, kind, action, amount, "
            "currency, effectiveAt",
        ),
    ],
)
def test_a_mistake_names_the_field_and_the_fix(field: str, value: object, mistake: str) -> None:
    assert mistakes({**GOOD, field: value}) == (f"[0].{mistake}",)


def test_an_instant_without_an_offset_is_a_mistake_if_its_store_has_no_time_zone() -> None:
    for instant in ("2026-08-24T12:30:00", datetime(2026, 8, 24)):  # noqa: DTZ001  # That is the mistake.
        (mistake,) = mistakes({**GOOD, "effectiveAt": instant})
        assert mistake.startswith("[0].effectiveAt: must be an instant with an offset")
        assert mistake.endswith("set it by PUT /pricing/stores/s1, or time_zone under [pricing]")


# Clocks go forward at 2:00 of 2027-03-28 and back at 3:00 of 2026-10-25 in Berlin; at midnight of 2027-03-28 in Beirut.
@pytest.mark.parametrize(
    ("zone", "local", "instant"),
    [
        ("Europe/Berlin", "2027-01-01T00:00:00", "2026-12-31T23:00:00+00:00"),
        ("Europe/Berlin", "2027-01-01", "2026-12-31T23:00:00+00:00"),
        ("Europe/Berlin", datetime(2027, 7, 1), "2027-06-30T22:00:00+00:00"),  # noqa: DTZ001  # A local time.
        ("America/New_York", "2027-01-01T00:00:00.5", "2027-01-01T05:00:00.500000+00:00"),
        ("Europe/Berlin", "2026-10-25T02:30:00", "2026-10-25T00:30:00+00:00"),
        ("Europe/Berlin", "2026-10-25T03:00:00", "2026-10-25T02:00:00+00:00"),
        ("Europe/Berlin", "2027-03-28T02:30:00", "2027-03-28T01:30:00+00:00"),
        ("Asia/Beirut", "2027-03-28T00:00:00", "2027-03-27T22:00:00+00:00"),
        ("Europe/Berlin", "2027-01-01T00:00:00+00:00", "2027-01-01T00:00:00+00:00"),
    ],
)
def test_a_local_time_is_that_of_the_store(zone: str, local: str | datetime, instant: str) -> None:
    at = effective_at(local, micros_of(NOON), "s1", {"s1": zone}.get)
    assert instant_of(at).isoformat() == instant


@pytest.mark.parametrize(
    ("zone", "local", "mistake"),
    [
        ("Europe/Berlin", "0001-01-01T00:00:00", "effectiveAt: out of range"),
        ("Europe/Berlin", "1999-01-01T00:00:00", "effectiveAt: must be from 2000 to 2036-08-31, not '1999-01-01T00:00"),
        ("Mars", "2027-01-01", "effectiveAt: the time zone of store 's1' cannot be used: 'Mars' is not a time zone"),
    ],
)
def test_a_local_time_that_cannot_be_used_is_a_mistake(zone: str, local: str, mistake: str) -> None:
    with pytest.raises(Mistake) as rejected:
        effective_at(local, micros_of(NOON), "s1", {"s1": zone}.get)
    assert str(rejected.value).startswith(mistake)


def test_zones_are_read_once_and_only_of_stores_with_a_local_time() -> None:
    asked: list[set[str]] = []

    async def read(stores: Collection[str]) -> dict[str, str]:
        asked.append(set(stores))
        return {"s1": "Europe/Berlin"}

    local = {**GOOD, "effectiveAt": "2027-01-01"}
    given = [local, {**GOOD, "store": "s2"}, {**local, "store": "s3", "effectiveAt": "2027-01-01T00:00:00Z"}, local]
    checked = asyncio.run(CHECKS.checked(given, micros_of(NOON), read))
    assert (asked, checked[0].at) == ([{"s1"}], micros_of(datetime(2026, 12, 31, 23, tzinfo=UTC)))
    asyncio.run(CHECKS.checked([GOOD], micros_of(NOON), read))
    assert len(asked) == 1
    # What is no store is a mistake, the only one, and not a question.
    with pytest.raises(sk.services.BadRequest) as rejected:
        asyncio.run(CHECKS.checked([{**local, "store": ""}], micros_of(NOON), read))
    assert rejected.value.details == ("[0].store: must have 1 to 128 bytes, not 0",)
    assert len(asked) == 1


def test_every_mistake_of_every_change_is_named_by_index() -> None:
    found = mistakes(GOOD, {"store": "", "amount": "x", "kind": "Y"}, GOOD, 5)
    assert [mistake.partition(":")[0] for mistake in found] == [
        "[1].kind",
        "[1].store",
        "[1].product",
        "[1].amount",
        "[3].store",
    ]


def test_so_many_mistakes_are_named_and_the_others_counted() -> None:
    found = mistakes(*[{**GOOD, "amount": -1}] * (NAMED_MISTAKES + 5))
    assert len(found) == NAMED_MISTAKES + 1
    assert found[-1] == "and 5 more"


@pytest.mark.parametrize("count", [0, MAX_CHANGES + 1])
def test_a_request_has_1_to_10000_changes(count: int) -> None:
    with pytest.raises(sk.services.BadRequest, match=f"a request has 1 to 10,000, not {count:,}"):
        asyncio.run(CHECKS.checked([GOOD] * count, micros_of(NOON)))


def test_structs_and_objects_of_json_are_read_alike() -> None:
    at = NOON + timedelta(hours=1)
    struct = ChangeInput(store="s1", product="P1", amount=Decimal("9.90"), effective_at=at)
    text = (at + timedelta(0)).astimezone().isoformat()
    json = {**GOOD, "channel": None, "kind": "BASE", "currency": "EUR", "effectiveAt": text}
    expected = asyncio.run(CHECKS.checked([struct, json], micros_of(NOON)))
    assert expected[0] == expected[1]
    assert expected[0].key == PriceKey("s1", "ALL", PriceKind.BASE, "P1")
    assert expected[0].at == micros_of(at)

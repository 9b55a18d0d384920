"""Which items have an expiry entry, and which items a sweep removes."""

from __future__ import annotations

import pytest

from sortkey.clock import ManualClock
from sortkey.engine.check.database_check import check_database
from sortkey.engine.database import Database
from sortkey.engine.rows import records
from sortkey.engine.tables import expiry_index
from sortkey.limits import TTL_OLDEST_SECONDS
from sortkey.storage import after_prefix, ascending
from tests.engine.orders import DAY, Orders, number, text

NOW = 1_750_000_000


@pytest.fixture
def orders(db: Database) -> Orders:
    orders = Orders(db, "NEW_AND_OLD_IMAGES")
    orders.expire_by("ends")
    db.janitor.sweep()
    return orders


def entries(db: Database) -> int:
    with db.read() as snapshot:
        return sum(1 for _ in ascending(snapshot, records.EXPIRY, after_prefix(records.EXPIRY)))


@pytest.mark.parametrize(
    ("value", "second"),
    [
        ({"N": "1750000000"}, NOW),
        ({"N": "1750000000.9"}, NOW),
        ({"N": "0"}, 0),
        ({"N": "18446744073709551615"}, (1 << 64) - 1),
        # No moment: the item stays for ever, as on AWS.
        ({"N": "18446744073709551616"}, None),
        ({"N": "-1"}, None),
        ({"N": "-0.5"}, None),
        ({"S": "1750000000"}, None),
        ({"NS": ["1750000000"]}, None),
    ],
)
def test_moment_of_expiry_is_a_number_of_whole_seconds(value: dict[str, str], second: int | None) -> None:
    assert expiry_index.second_of({"ends": value}, "ends") == second


def test_item_goes_once_its_second_has_passed(orders: Orders, clock: ManualClock) -> None:
    orders.put("a", ends=number(NOW))
    orders.db.janitor.sweep()
    assert orders.ids() == {"a"}
    clock.advance(0.5)
    orders.db.janitor.sweep()
    assert orders.ids() == set()
    assert entries(orders.db) == 0


# Consumers such as archives must distinguish expiry from a user's delete.
def test_removal_by_expiry_bears_the_identity_of_the_service(orders: Orders, clock: ManualClock) -> None:
    orders.put("a", ends=number(NOW + 5))
    orders.delete("a")
    orders.put("a", ends=number(NOW + 5))
    clock.advance(6)
    orders.db.janitor.sweep()
    _, by_user, _, by_service = orders.records()
    assert "userIdentity" not in by_user
    assert by_service["eventName"] == "REMOVE"
    assert by_service["userIdentity"] == {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}
    assert by_service["dynamodb"]["OldImage"] == {"id": text("a"), "ends": number(NOW + 5)}


# What was not due when the clock was ahead is due at its own time.
def test_items_expire_at_their_time_after_the_clock_went_back(orders: Orders, clock: ManualClock) -> None:
    clock.jump(2 * 86400)
    orders.put("late", ends=number(NOW + 3 * 86400))
    orders.db.janitor.sweep()
    clock.jump(-2 * 86400)
    orders.put("a", ends=number(NOW + 5))
    orders.db.janitor.sweep()
    assert orders.ids() == {"a", "late"}
    clock.advance(6)
    orders.db.janitor.sweep()
    assert orders.ids() == {"late"}
    clock.advance(3 * 86400)
    orders.db.janitor.sweep()
    assert orders.ids() == set()


def test_prolonged_and_undated_items_stay(orders: Orders, clock: ManualClock) -> None:
    orders.put("prolonged", ends=number(NOW + 5))
    orders.put("prolonged", ends=number(NOW + 50))
    orders.put("undated", ends=number(NOW + 5))
    orders.put("undated")
    orders.put("gone", ends=number(NOW + 5))
    orders.delete("gone")
    assert entries(orders.db) == 1
    clock.advance(10)
    orders.db.janitor.sweep()
    assert orders.ids() == {"prolonged", "undated"}


# As in AWS: such a value is probably an error, for example a zero.
def test_items_more_than_five_years_past_their_expiry_stay(orders: Orders) -> None:
    orders.put("mistake", ends=number(NOW - TTL_OLDEST_SECONDS - 1))
    orders.put("zero", ends=number(0))
    orders.put("old", ends=number(NOW - TTL_OLDEST_SECONDS + 60))
    orders.db.janitor.sweep()
    assert orders.ids() == {"mistake", "zero"}


def test_items_from_before_ttl_expire_too(db: Database, clock: ManualClock) -> None:
    orders = Orders(db)
    for at in range(20):
        orders.put(f"a{at}", ends=number(NOW + at))
    orders.expire_by("ends")
    clock.advance(10)
    db.janitor.sweep()
    assert orders.ids() == {f"a{at}" for at in range(10, 20)}


# Old entries must not remove items that the new attribute lets live, nor stay behind for ever.
def test_switching_to_another_attribute_forgets_the_first(orders: Orders, clock: ManualClock) -> None:
    orders.put("a", ends=number(NOW + 5), due=number(NOW + DAY))
    orders.expire_by("ends", enabled=False)
    orders.expire_by("due")
    clock.advance(10)
    orders.db.janitor.sweep()
    assert orders.ids() == {"a"}
    assert entries(orders.db) == 1
    clock.advance(DAY)
    orders.db.janitor.sweep()
    assert orders.ids() == set()


def test_switching_off_stops_expiry_and_clears_its_index(orders: Orders, clock: ManualClock) -> None:
    orders.put("a", ends=number(NOW + 5))
    orders.expire_by("ends", enabled=False)
    clock.advance(10)
    orders.db.janitor.sweep()
    assert orders.ids() == {"a"}
    assert entries(orders.db) == 0


def test_dropping_the_table_clears_its_expiry_index(orders: Orders) -> None:
    orders.put("a", ends=number(NOW + 5))
    kept = Orders(orders.db, name="kept")
    kept.expire_by("ends")
    kept.put("b", ends=number(NOW + 5))
    orders.db.call("DeleteTable", {"TableName": orders.name})
    orders.db.janitor.sweep()
    assert entries(orders.db) == 1


# No write leaves such an entry, but a sweep that trusted one would delete a live item.
def test_an_entry_that_does_not_match_its_item_removes_only_itself(orders: Orders, clock: ManualClock) -> None:
    orders.put("a", ends=number(NOW + DAY))
    with orders.db.read() as snapshot:
        table = orders.db.catalog.require(snapshot, orders.name)
    item = {"id": text("a"), "ends": number(NOW)}
    stray = expiry_index.entry_of(table, table.row_prefix(item), item)
    assert stray is not None
    orders.db.store.write(lambda batch: batch.put_record(stray, b""))
    clock.advance(1)
    orders.db.janitor.sweep()
    assert orders.ids() == {"a"}
    assert entries(orders.db) == 1


# A sweep in one huge transaction would block all writers.
def test_many_items_expire_over_several_transactions(orders: Orders, clock: ManualClock) -> None:
    for at in range(600):
        orders.put(f"a{at}", ends=number(NOW + 1))
    clock.advance(10)
    before = orders.db.store.queue.commits
    orders.db.janitor.sweep()
    assert orders.ids() == set()
    assert orders.db.store.queue.commits == before + 3
    assert check_database(orders.db).problems == []

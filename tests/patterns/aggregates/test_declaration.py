"""Declarations of aggregates: what they take, and the mistakes that are rejected at import."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any

import pytest

import sortkey as sk

ORDERS = sk.Table("aggregated-orders", stream="NEW_AND_OLD_IMAGES")
SUMMED = sk.Table("order-sums")
NOW = datetime(2026, 8, 24, tzinfo=UTC)


class Address(sk.Item):
    city: str


class Order(sk.Item, table=ORDERS):
    id: str
    customer: str | None
    placed: datetime
    day: date
    total: Decimal
    weight: Annotated[float | None, sk.inexact] = None
    took: timedelta | None = None
    status: str = "OPEN"
    address: Address | None = None
    key = sk.Key("ORDER#{id}")


class Sums(sk.Item, table=SUMMED):
    customer: str
    window: str
    orders: int = 0
    total: Decimal = Decimal(0)
    took: timedelta = timedelta(0)
    key = sk.Key("CUSTOMER#{customer}", "{window}")


DAYS = sk.patterns.window("placed", "DAY")
KEPT_DAYS = sk.patterns.window("placed", "DAY", keep={"DAY": timedelta(days=1)})
AN_ORDER = Order(id="1", customer="ada", placed=NOW, day=NOW.date(), total=Decimal(3), address=Address(city="York"))


def declared(into: Any = Sums, **changes: Any) -> sk.patterns.Aggregate:
    options = {"by": ("customer",), "window": DAYS, "values": {"orders": sk.patterns.count()}, **changes}
    return sk.patterns.aggregate(
        changes.pop("counted", Order), into=into, **{k: v for k, v in options.items() if k != "counted"}
    )


def test_shares_are_by_group_and_window() -> None:
    aggregate = declared(values={"orders": sk.patterns.count(), "total": sk.patterns.total("total")})
    assert aggregate.source.shares(AN_ORDER, NOW) == {("ada", "2026-08-24"): (1, Decimal(3))}


def test_an_item_without_a_group_is_not_counted() -> None:
    assert declared().source.shares(sk.replace(AN_ORDER, customer=None), NOW) == {}


def test_an_item_of_another_class_is_not_counted() -> None:
    assert declared().source.shares(Address(city="York"), NOW) == {}


@pytest.mark.parametrize("where", [{"status": "OPEN"}, sk.F(Order.status) == "OPEN"])
def test_an_item_counts_only_if_it_matches(where: Any) -> None:
    source = declared(where=where).source
    assert source.shares(AN_ORDER, NOW) != {}
    assert source.shares(sk.replace(AN_ORDER, status="DONE"), NOW) == {}


def test_a_group_may_come_from_another_field_or_a_function() -> None:
    by_status = declared(by={"customer": "status"})
    assert list(by_status.source.shares(AN_ORDER, NOW)) == [("OPEN", "2026-08-24")]
    by_city = declared(by={"customer": lambda order: order.address and order.address.city})
    assert list(by_city.source.shares(AN_ORDER, NOW)) == [("York", "2026-08-24")]
    assert by_city.source.shares(sk.replace(AN_ORDER, address=None), NOW) == {}


def test_a_value_that_is_none_adds_nothing() -> None:
    source = declared(values={"took": sk.patterns.total("took")}).source
    assert source.shares(AN_ORDER, NOW) == {("ada", "2026-08-24"): (timedelta(0),)}


class Versioned(sk.Item, table=SUMMED, version=2):
    customer: str
    window: str
    orders: int = 0
    key = sk.Key("VERSIONED#{customer}", "{window}")


class Needy(sk.Item, table=SUMMED):
    customer: str
    window: str
    note: str
    orders: int = 0
    key = sk.Key("NEEDY#{customer}", "{window}")


class Noted(sk.Item, table=sk.Table("noted-sums")):
    customer: str
    window: str
    orders: int = 0
    note: str = "none"
    key = sk.Key("{customer}", "{window}")
    by_note = sk.Index("note", "{note}", "{window}")


class Peaked(sk.Item, table=sk.Table("peaked-sums")):
    customer: str
    window: str
    largest: Decimal | None = None
    largest_exact: bool = True
    key = sk.Key("{customer}", "{window}")
    by_largest = sk.Index("largest", "PEAK#{window}", "{largest}")


class Started(sk.Item, table=SUMMED):
    customer: str
    window: str
    orders: int = 5
    key = sk.Key("STARTED#{customer}", "{window}")


class Unstreamed(sk.Item, table="unstreamed-orders"):
    id: str
    customer: str
    placed: datetime
    key = sk.Key("{id}")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"counted": Unstreamed}, r'sk.Table\("unstreamed-orders", stream="NEW_AND_OLD_IMAGES"\)'),
        ({"by": "customer"}, r"such as \('customer',\), not a text"),
        ({"by": ()}, "must be exactly the fields of the key"),
        ({"by": ("customer", "id")}, "Sums has no field 'id'"),
        ({"by": {"customer": "custmer"}}, "Order has no field 'custmer'; did you mean 'customer'"),
        ({"by": {"customer": "total"}}, "Sums.customer is .*str.*Order.total.*Decimal"),
        ({"window": None}, "must be exactly the fields of the key"),
        ({"window": sk.patterns.window("plced", "DAY")}, "did you mean 'placed'"),
        ({"window": sk.patterns.window("total", "DAY")}, "Order.total must be a datetime or a date"),
        ({"window": sk.patterns.window("day", "HOUR")}, "Order.day is a date, which has no hour"),
        (
            {"window": sk.patterns.window("placed", "DAY", keep={"DAY": timedelta(1)})},
            r'sk.Table\("order-sums", ttl="expires"\)',
        ),
        ({"values": {}}, "needs values"),
        ({"values": {"order": sk.patterns.count()}}, "did you mean 'orders'"),
        ({"values": {"orders": 1}}, "takes sk.patterns.count.*, not 1"),
        ({"values": {"total": sk.patterns.count()}}, r"Sums.total must be an int, to hold count\(\), not Decimal"),
        ({"values": {"orders": sk.patterns.total("totl")}}, "did you mean 'total'"),
        ({"values": {"orders": sk.patterns.total("total")}}, "Sums.orders must be Decimal"),
        ({"values": {"total": sk.patterns.total("weight")}}, "so that sums are exact; Order.weight is float"),
        ({"values": {"window": sk.patterns.count()}}, "Sums.window is in the key"),
        ({"where": {"statu": "OPEN"}}, "statu"),
        ({"into": Versioned}, "Versioned has versions"),
        ({"into": Needy}, "Needy.note has no default"),
        ({"into": Noted}, "Noted.by_note has note, which the aggregate does not know"),
        (
            {"into": Peaked, "values": {"largest": sk.patterns.maximum("total")}},
            "Peaked.by_largest: .* must be a field itself",
        ),
        ({"into": Started}, "has the default 5, but an aggregate starts from 0"),
        ({"checkpoints": ""}, "checkpoints='' must be the beginning"),
    ],
)
def test_mistakes_are_rejected(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(sk.ModelError, match=message):
        declared(**changes)

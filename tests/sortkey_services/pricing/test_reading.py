"""What reads cost, and rows that other programs have written: they are left out of pages, and named if asked for."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import sortkey as sk
from sortkey_services.pricing.model import Batch, PriceRow, loaded_price
from sortkey_services.pricing.prices import PriceKey, PriceKind, micros_of
from sortkey_services.pricing.reads import change_id, page_request
from tests.sortkey_services.pricing.conftest import NOON, Service

pytestmark = pytest.mark.parametrize("store", ["memory"], indirect=True)

PRODUCTS = [f"P{number:03}" for number in range(100)]


def load(service: Service) -> None:
    since = micros_of(NOON - timedelta(days=1))
    keys = [PriceKey("s1", "ALL", PriceKind.BASE, product) for product in PRODUCTS]
    service.wait(service.session.batch(put=[loaded_price(key, 1000, since) for key in keys]))


def requests(service: Service) -> int:
    return sum(reading.calls for reading in service.session.meter.readings())


def test_a_page_of_64_is_one_query_of_66_rows(service: Service) -> None:
    load(service)
    before, rows = requests(service), service.session.meter.reading(PriceRow.key(store="s1")).rows_read
    page = service.wait(service.pricing.base_prices("s1", page_request()))
    assert (len(page), page.has_next) == (64, True)
    assert requests(service) - before == 1
    assert service.session.meter.reading(PriceRow.key(store="s1")).rows_read - rows == 66


def test_a_page_with_changes_of_a_batch_asks_for_the_batch_once_in_a_process(service: Service) -> None:
    load(service)
    given = [{"store": "s1", "product": product, "amount": 1} for product in PRODUCTS]
    service.wait(service.pricing.change_prices(given))
    service.restart()
    costs = []
    for _ in range(2):
        before = requests(service)
        service.wait(service.pricing.base_prices("s1", page_request()))
        costs.append(requests(service) - before)
    assert costs == [2, 1]


def test_a_page_fills_up_past_products_without_a_price(service: Service) -> None:
    load(service)
    deleted = [{"store": "s1", "product": product, "action": "DELETE"} for product in PRODUCTS[10:90]]
    service.wait(service.pricing.change_prices(deleted))
    page = service.wait(service.pricing.base_prices("s1", page_request(first=15)))
    assert [price.product for price in page.items] == PRODUCTS[:10] + PRODUCTS[90:95]
    assert page.has_next
    rest = service.wait(service.pricing.base_prices("s1", page_request(first=5, after=page.end_cursor)))
    assert ([price.product for price in rest.items], rest.has_next) == (PRODUCTS[95:], False)


UNREADABLE: list[dict[str, Any]] = [
    {"cents": {"S": "ten"}, "since": {"N": "1"}},
    {"cents": {"N": "10.5"}, "since": {"N": "1"}},
    {"cents": {"N": "1"}, "since": {"S": "yesterday"}},
    {"cents": {"N": "1"}, "since": {"N": "1"}, "entries": {"L": [{"M": {"at": {"N": "1"}}}]}},
    {"cents": {"N": "1"}, "since": {"N": "1"}, "entries": {"S": "none"}},
]
EMPTY: list[dict[str, Any]] = [
    {},
    {"cents": {"N": "1"}},
    {"since": {"N": "1"}},
    {"cents": {"N": "1"}, "since": {"N": f"-{10**20}"}},
]


def write(service: Service, attributes: dict[str, Any]) -> None:
    """A row of P050 that another program has written."""
    key = PriceRow.key(store="s1", channel="ALL", kind=PriceKind.BASE, product="P050").key()
    service.wait(service.session.client.put_item(TableName="prices", Item=key | attributes))


@pytest.mark.parametrize("attributes", UNREADABLE)
def test_an_unreadable_row_is_left_out_of_the_page_and_named_if_asked_for(
    service: Service, attributes: dict[str, Any]
) -> None:
    load(service)
    write(service, attributes)
    assert list(service.prices()) == [product for product in PRODUCTS if product != "P050"]
    with pytest.raises(sk.services.Conflict, match="the price of 'P050' in 's1' cannot be read"):
        service.price("P050")
    with pytest.raises(sk.services.Conflict, match="another program has made its row unreadable"):
        service.change("P050", "1")
    assert service.history("P050") == []


@pytest.mark.parametrize("attributes", EMPTY)
def test_a_row_that_says_nothing_is_no_price(service: Service, attributes: dict[str, Any]) -> None:
    load(service)
    write(service, attributes)
    assert (service.price("P050"), "P050" in service.prices()) == (None, False)
    service.change("P050", "7")
    assert service.price("P050") == 7


def test_a_batch_whose_row_is_unreadable_or_gone_counts_for_nothing(service: Service) -> None:
    load(service)
    given = [{"store": "s1", "product": product, "amount": 1} for product in PRODUCTS]
    service.wait(service.pricing.change_prices(given))
    (batch,) = service.rows(Batch)
    key = batch.key.key()
    service.wait(service.session.client.put_item(TableName="price-changes", Item=key | {"status": {"N": "1"}}))
    service.restart()
    assert set(service.prices().values()) == {"10.00"}
    service.wait(service.session.client.delete_item(TableName="price-changes", Key=key))
    service.restart()
    assert set(service.prices().values()) == {"10.00"}


def test_an_unreadable_change_is_left_out_of_the_lists(service: Service) -> None:
    first = service.change("P1", "1", minutes=5)
    second = service.change("P1", "2", minutes=6)
    key = change_id(first.id).path.key()
    service.wait(
        service.session.client.update_item(
            TableName="price-changes",
            Key=key,
            UpdateExpression="SET cents = :bad",
            ExpressionAttributeValues={":bad": {"S": "one"}},
        )
    )
    assert [each.id for each in service.upcoming()] == [second.id]
    service.pass_minutes(10)
    assert service.history("P1") == [(None, "2.00")]

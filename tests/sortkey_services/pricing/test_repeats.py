"""A request that is sent again, with its `Idempotency-Key`, is one change: also if the server was killed meanwhile."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

import sortkey as sk
from sortkey.server.idempotency import Idempotency
from sortkey.services.operation import OPERATION, REQUESTS, Operation
from sortkey_services.pricing.change_writes import MAX_IN_TRANSACTION, ChangeWrites
from sortkey_services.pricing.model import Batch, ChangeRow
from sortkey_services.pricing.prices import PriceChange
from tests.sortkey_services.pricing.conftest import Service
from tests.sortkey_services.pricing.serving import Served

LATER = "2026-08-25T00:00:00+00:00"
SIZES = [1, 2, MAX_IN_TRANSACTION, MAX_IN_TRANSACTION + 1]
CHANGE = "mutation($c: [PriceChangeInput!]!) { changePrices(changes: $c) { ids } }"


def changes(count: int, **more: object) -> list[dict[str, Any]]:
    return [{"store": "s1", "product": f"P{n:02}", "amount": 5, **more} for n in range(count)]


async def attempt(service: Service, given: list[dict[str, Any]], operation: str = "op") -> list[PriceChange[Decimal]]:
    """By a process of its own, to do what a request with a key asks for."""
    OPERATION.set(Operation(operation, service.session, datetime.now(UTC) + timedelta(days=2)))
    return await service.process().change_prices(given)


@pytest.fixture
def noting(service: Service) -> Service:
    service.wait(service.session.create_tables(REQUESTS))
    return service


@pytest.mark.parametrize("path", ["/pricing/changes", "/pricing/changes?requestedBy=ada"])
def test_a_request_sent_twice_is_one_change(served: Served, path: str) -> None:
    for body in ({"store": "s1", "product": "P1", "amount": 5}, changes(3, effectiveAt=LATER)):
        key = type(body).__name__
        first, again = [served.call("POST", path, body, idempotency_key=key) for _ in range(2)]
        assert first.status == again.status == 202
        assert first.body == again.body
    history = served.call("GET", "/pricing/stores/s1/products/P1/history").json()["items"]
    assert len(history) == 1


# The longest list, whose ids fit in no item.
@pytest.mark.slow
def test_ten_thousand_changes_sent_twice_are_ten_thousand(served: Served) -> None:
    many = [{"store": "s1", "product": f"P{n}", "amount": 5, "effectiveAt": LATER} for n in range(10_000)]
    first, again = [served.call("POST", "/pricing/changes", many, idempotency_key="k") for _ in range(2)]
    assert len(first.json()["ids"]) == 10_000
    assert again.body == first.body


def test_a_mutation_sent_twice_is_one_change(served: Served) -> None:
    sent = {"query": CHANGE, "variables": {"c": [{"store": "s1", "product": "P1", "amount": "5.00"}]}}
    first, again = [served.call("POST", "/graphql", sent, idempotency_key="k") for _ in range(2)]
    assert first.json()["data"]["changePrices"]["ids"]
    assert first.body == again.body
    assert again.headers["idempotency-replayed"] == "true"


# GraphQL's errors have the status 200. One that was refused may be mended; one that failed is tried again.
def test_a_mutation_that_failed_is_not_kept(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    def send(amount: object, key: str) -> Any:
        variables = {"c": [{"store": "s1", "product": "P1", "amount": amount}]}
        return served.call("POST", "/graphql", {"query": CHANGE, "variables": variables}, idempotency_key=key).json()

    assert "errors" in send(["no amount"], "k")
    assert send("5.00", "k")["data"]["changePrices"]["ids"]

    accept = ChangeWrites.accept

    async def failing(*_: Any) -> Any:
        raise sk.DeadlineExceeded("not done in time")

    monkeypatch.setattr(ChangeWrites, "accept", failing)
    assert "errors" in send("6.00", "k-2")
    monkeypatch.setattr(ChangeWrites, "accept", accept)
    assert send("6.00", "k-2")["data"]["changePrices"]["ids"]


# The work is done, and the server dies before it has kept the answer.
@pytest.mark.parametrize("body", [changes(1), changes(2), changes(2, effectiveAt=LATER), changes(40)])
def test_after_a_kill_a_repeat_is_no_second_change(
    served: Served, monkeypatch: pytest.MonkeyPatch, body: list[dict[str, Any]]
) -> None:
    async def killed(*_: Any) -> None:
        pass

    with monkeypatch.context() as patched:
        patched.setattr(Idempotency, "_keep", killed)
        first = served.call("POST", "/pricing/changes", body, idempotency_key="k")
    again = served.call("POST", "/pricing/changes", body, idempotency_key="k")
    assert "idempotency-replayed" not in again.headers
    assert again.json() == first.json()
    rows = served._runner.run(_rows(served.session))
    assert len(rows) == len(body)


async def _rows(session: sk.AsyncSession) -> list[ChangeRow]:
    return [row async for row in session.scan(ChangeRow)]


# Each is another operation, in the same order at each attempt.
def test_a_request_with_several_mutations(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    query = """mutation {
      a: changePrices(changes: [{store: "s1", product: "P1", amount: "5.00"}]) { ids }
      b: changePrices(changes: [{store: "s1", product: "P2", amount: "5.00"}]) { ids }
    }"""

    async def killed(*_: Any) -> None:
        pass

    with monkeypatch.context() as patched:
        patched.setattr(Idempotency, "_keep", killed)
        first = served.call("POST", "/graphql", {"query": query}, idempotency_key="k").json()
    assert first["data"]["a"]["ids"] != first["data"]["b"]["ids"]
    assert served.call("POST", "/graphql", {"query": query}, idempotency_key="k").json() == first


@pytest.mark.parametrize("store", ["memory"], indirect=True)
class TestAttempts:
    @pytest.mark.parametrize("count", SIZES)
    @pytest.mark.parametrize("at", [None, LATER])
    def test_a_further_one_has_the_same_answer(self, noting: Service, count: int, at: str | None) -> None:
        given = changes(count, **({} if at is None else {"effectiveAt": at}))
        first = noting.wait(attempt(noting, given))
        noting.pass_minutes(1)
        assert noting.wait(attempt(noting, given)) == first
        assert len(noting.rows(ChangeRow)) == count

    # One that was frozen, and goes on when another has taken over.
    @pytest.mark.parametrize("count", SIZES)
    def test_two_at_once_are_one(self, noting: Service, count: int) -> None:
        async def both() -> list[Any]:
            given = changes(count)
            return await asyncio.gather(*(asyncio.create_task(attempt(noting, given)) for _ in range(2)))

        first, second = noting.wait(both())
        assert first == second
        assert len(noting.rows(ChangeRow)) == count
        assert sum(batch.status == "COMMITTED" for batch in noting.rows(Batch)) <= 1

    def test_another_operation_is_another_change(self, noting: Service) -> None:
        for operation in ("one", "two"):
            noting.wait(attempt(noting, changes(1), operation))
        assert len(noting.rows(ChangeRow)) == 2


# Of a transaction over several tables, and of a batch.
@pytest.mark.parametrize("count", [1, 2])
def test_a_further_attempt_on_every_store(noting: Service, count: int) -> None:
    first = noting.wait(attempt(noting, changes(count)))
    assert noting.wait(attempt(noting, changes(count))) == first

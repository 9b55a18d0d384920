"""Who asked: what a request claims, and beside it the name of its token, which it cannot choose."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sortkey as sk
from sortkey.clock import ManualClock
from sortkey.server import tokens
from sortkey.server.app import app_of
from sortkey_services.pricing.model import CHANGES, PRICES
from sortkey_services.pricing.service import PricingService
from tests.server.calling import Answer, call
from tests.sortkey_services.pricing.serving import NOON

LATER = "2026-08-24T13:00:00Z"
CEO = "requestedBy=the-ceo"


class Guarded:
    """The service behind tokens."""

    def __init__(self, runner: asyncio.Runner, session: sk.AsyncSession, folder: Path) -> None:
        self._runner = runner
        self.clock = ManualClock(NOON.timestamp())
        pricing = PricingService(session, clock=self.clock, sleep=self._sleep)
        runner.run(pricing.start())
        made = {name: tokens.create(name, ["pricing:read", "pricing:write"]) for name in ("writer", "other")}
        file = folder / "tokens.toml"
        file.write_text("".join(entry for _, entry in made.values()))
        file.chmod(0o600)
        self._tokens = {name: token for name, (token, _) in made.items()}
        self._app = app_of([pricing], tokens=tokens.load(file, ["pricing"]))

    async def _sleep(self, seconds: float) -> None:
        self.clock.advance(seconds)

    def call(self, method: str, path: str, body: object = None, token: str = "writer") -> Answer:
        return self._runner.run(
            call(self._app, method, path, body, authorization=f"Bearer {self._tokens[token]}"),
        )

    def ask(self, query: str, token: str = "writer") -> Any:
        answer = self.call("POST", "/graphql", {"query": query}, token).json()
        assert "errors" not in answer, answer
        return answer["data"]

    def change(self, path: str = f"/pricing/changes?{CEO}", **others: Any) -> str:
        answer = self.call("POST", path, {"store": "s1", "product": "p1", "amount": 1, **others})
        assert answer.status == 202
        made: str = answer.json()["ids"][0]
        return made


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Guarded]:
    with asyncio.Runner() as runner:

        async def opened() -> sk.AsyncSession:
            return await sk.async_connect("memory:", tables=[PRICES, CHANGES])

        session = runner.run(opened())
        yield Guarded(runner, session, tmp_path)
        runner.run(session.close())


def asked(item: Any) -> tuple[str | None, str | None]:
    return item["requestedBy"], item["caller"]


# The second path is Litestar's general one.
@pytest.mark.parametrize("path", ["/pricing/changes", "/pricing/changes/"])
def test_a_change_has_the_caller_beside_the_claim(guarded: Guarded, path: str) -> None:
    made = guarded.change(f"{path}?{CEO}")
    assert asked(guarded.call("GET", f"/pricing/changes/{made}").json()) == ("the-ceo", "writer")
    (record,) = guarded.call("GET", "/pricing/stores/s1/products/p1/history").json()["items"]
    assert (record["id"], *asked(record)) == (made, "the-ceo", "writer")


def test_a_list_that_is_a_batch_has_it_too(guarded: Guarded) -> None:
    given = [{"store": "s1", "product": f"p{number}", "amount": 1} for number in range(40)]
    assert guarded.call("POST", f"/pricing/changes?{CEO}", given, "other").status == 202
    for number in (0, 39):
        (record,) = guarded.call("GET", f"/pricing/stores/s1/products/p{number}/history").json()["items"]
        assert asked(record) == ("the-ceo", "other")


def test_moving_and_cancelling_have_callers_of_their_own(guarded: Guarded) -> None:
    made = guarded.change(effectiveAt=LATER)
    body = {"effectiveAt": "2026-08-24T14:00:00Z"}
    guarded.call("PATCH", f"/pricing/changes/{made}?requestedBy=bob", body, "other")
    cancelled = guarded.call("DELETE", f"/pricing/changes/{made}?requestedBy=eve", token="other").json()
    assert asked(cancelled) == ("the-ceo", "writer")
    assert [(step["step"], *asked(step)) for step in cancelled["history"]] == [
        ("RESCHEDULED", "bob", "other"),
        ("CANCELLED", "eve", "other"),
    ]
    assert guarded.call("GET", f"/pricing/changes/{made}").json() == cancelled


# Who has moved a price did not choose its amount: the history names the one who did.
def test_the_history_of_a_moved_change_has_who_asked_for_it(guarded: Guarded) -> None:
    made = guarded.change(effectiveAt=LATER)
    guarded.call("PATCH", f"/pricing/changes/{made}", {"effectiveAt": "2026-08-24T12:30:00Z"}, "other")
    guarded.clock.advance(3600)
    (record,) = guarded.call("GET", "/pricing/stores/s1/products/p1/history").json()["items"]
    assert (record["id"], *asked(record)) == (made, "the-ceo", "writer")


def test_mutations_have_the_caller_too(guarded: Guarded) -> None:
    change = f'{{store: "s1", product: "p1", amount: 1, effectiveAt: "{LATER}"}}'
    shown = "changes { id requestedBy caller }"
    (made,) = guarded.ask(f'mutation {{ changePrices(changes: [{change}], requestedBy: "the-ceo") {{ {shown} }} }}')[
        "changePrices"
    ]["changes"]
    assert asked(made) == ("the-ceo", "writer")
    by, fields = f'id: "{made["id"]}", requestedBy: "eve"', "history { step requestedBy caller }"
    guarded.ask(
        f'mutation {{ reschedulePriceChange({by}, effectiveAt: "2026-08-24T14:00:00Z") {{ id }} }}', token="other"
    )
    guarded.ask(f"mutation {{ cancelPriceChange({by}) {{ id }} }}")
    found = guarded.ask(f'{{ priceChange(id: "{made["id"]}") {{ requestedBy caller {fields} }} }}')["priceChange"]
    assert asked(found) == ("the-ceo", "writer")
    assert [(step["step"], *asked(step)) for step in found["history"]] == [
        ("RESCHEDULED", "eve", "other"),
        ("CANCELLED", "eve", "writer"),
    ]


def test_records_and_lists_of_graphql_show_it(guarded: Guarded) -> None:
    guarded.change()
    guarded.change(effectiveAt=LATER)
    shown = guarded.ask(
        """{
          priceHistory(store: "s1", product: "p1") { nodes { requestedBy caller } }
          priceChanges(store: "s1") { nodes { requestedBy caller } }
        }"""
    )
    assert [[asked(each) for each in page["nodes"]] for page in shown.values()] == [[("the-ceo", "writer")]] * 2

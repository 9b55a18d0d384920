"""Pricing over GraphQL: the questions, the changes, and their errors. REST's tests have the details of both."""

from __future__ import annotations

from typing import Any

import pytest

from sortkey.graphql.compiled import NotCompiled
from sortkey.graphql.operation import Operation
from tests.sortkey_services.pricing.serving import Served

CHANGE = """mutation Change($changes: [PriceChangeInput!]!) {
  changePrices(changes: $changes, requestedBy: "ada") {
    ids
    changes { id product amount status effectiveAt action kind }
  }
}"""
PAGE = """query Page($first: Int, $after: String, $last: Int, $before: String, $at: DateTime) {
  basePrices(store: "s1", first: $first, after: $after, last: $last, before: $before, at: $at) {
    edges { cursor node { store product channel kind amount currency effectiveFrom } }
    nodes { product }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  }
}"""


def change(product: str, amount: Any = "4.50", store: str = "s1", **others: Any) -> dict[str, Any]:
    return {"store": store, "product": product, "amount": amount, **others}


def test_a_change_without_an_instant_is_in_force_when_it_is_answered(served: Served) -> None:
    made = served.ask(CHANGE, changes=[change("p1", 4), change("p2", "9.90", effectiveAt="2026-08-24T15:00:00+02:00")])
    payload = made["data"]["changePrices"]
    assert [each["id"] for each in payload["changes"]] == payload["ids"]
    assert payload["changes"][1] == {
        "id": payload["ids"][1],
        "product": "p2",
        "amount": "9.90",
        "status": "SCHEDULED",
        "effectiveAt": "2026-08-24T13:00:00Z",
        "action": "SET",
        "kind": "BASE",
    }
    assert payload["changes"][0]["status"] == "APPLIED"
    answer = served.ask('{ price(store: "s1", product: "p1") { amount effectiveFrom } }')
    since = payload["changes"][0]["effectiveAt"]
    assert answer == {"data": {"price": {"amount": "4.00", "effectiveFrom": since}}}


def test_a_price_is_asked_for_at_an_instant(served: Served) -> None:
    served.ask(CHANGE, changes=[change("p1", 4), change("p1", 9, effectiveAt="2026-08-24T13:00:00Z")])
    answer = served.ask(
        """query($at: DateTime) {
          now: price(store: "s1", product: "p1") { amount }
          then: price(store: "s1", product: "p1", at: $at) { amount }
          web: price(store: "s1", product: "p1", channel: "WEB") { amount }
          before: price(store: "s1", product: "p1", at: "2026-08-24T11:59:59Z") { amount }
        }""",
        at="2026-08-24T15:00:00+02:00",
    )
    assert answer["data"] == {"now": {"amount": "4.00"}, "then": {"amount": "9.00"}, "web": None, "before": None}


# From each edge, too: a client may go on from any of them.
def test_pages_go_in_both_directions_from_every_edge(served: Served) -> None:
    names = [f"p{number}" for number in range(7)]
    served.ask(CHANGE, changes=[change(name) for name in names])
    whole = served.ask(PAGE, first=7)["data"]["basePrices"]
    assert [each["product"] for each in whole["nodes"]] == names
    assert not whole["pageInfo"]["hasNextPage"]
    for place, edge in enumerate(whole["edges"]):
        forward = served.ask(PAGE, first=3, after=edge["cursor"])["data"]["basePrices"]
        assert forward["edges"] == whole["edges"][place + 1 : place + 4]
        backward = served.ask(PAGE, last=3, before=edge["cursor"])["data"]["basePrices"]
        assert backward["edges"] == whole["edges"][max(place - 3, 0) : place]
        assert forward["pageInfo"]["hasNextPage"] == (place + 4 < 7)
        assert backward["pageInfo"]["hasPreviousPage"] == (place - 3 > 0)
        assert (forward["pageInfo"]["hasPreviousPage"], backward["pageInfo"]["hasNextPage"]) == (True, True)
        if backward["edges"]:
            assert backward["pageInfo"]["startCursor"] == backward["edges"][0]["cursor"]
            assert backward["pageInfo"]["endCursor"] == backward["edges"][-1]["cursor"]


def test_every_list_is_a_connection(served: Served) -> None:
    served.ask(
        CHANGE,
        changes=[
            change("p1"),
            change("p1", store="s2"),
            change("menu#fries", 1, kind="SWAP"),
            change("p1", action="DELETE", effectiveAt="2026-08-24T13:00:00Z", amount=None),
        ],
    )
    answer = served.ask(
        """{
          productPrices(product: "p1") { nodes { store } }
          swapPrices(store: "s1", combo: "menu") { nodes { product kind } }
          priceChanges(store: "s1") { nodes { product action amount status } }
          priceHistory(store: "s1", product: "p1") { nodes { action amount previousAmount requestedBy recordedAt } }
          swap: price(store: "s1", product: "menu#fries") { amount }
        }"""
    )
    assert answer == {
        "data": {
            "productPrices": {"nodes": [{"store": "s1"}, {"store": "s2"}]},
            "swapPrices": {"nodes": [{"product": "menu#fries", "kind": "SWAP"}]},
            "priceChanges": {"nodes": [{"product": "p1", "action": "DELETE", "amount": None, "status": "SCHEDULED"}]},
            "priceHistory": {
                "nodes": [
                    {
                        "action": "SET",
                        "amount": "4.50",
                        "previousAmount": None,
                        "requestedBy": "ada",
                        "recordedAt": "2026-08-24T12:00:00Z",
                    }
                ]
            },
            "swap": {"amount": "1.00"},
        }
    }


def test_a_change_is_cancelled_once(served: Served) -> None:
    (made,) = served.ask(CHANGE, changes=[change("p1", effectiveAt="2026-08-24T13:00:00Z")])["data"]["changePrices"][
        "ids"
    ]
    cancel = 'mutation($id: ID!) { cancelPriceChange(id: $id, requestedBy: "eve") { id status } }'
    assert served.ask(cancel, id=made) == {"data": {"cancelPriceChange": {"id": made, "status": "CANCELLED"}}}
    (applied,) = served.ask(CHANGE, changes=[change("p2")])["data"]["changePrices"]["ids"]
    assert error(served.ask(cancel, id=applied))["extensions"]["code"] == "CONFLICT"
    assert error(served.ask(cancel, id="nothing"))["extensions"]["code"] == "NOT_FOUND"


def test_a_change_is_moved_and_keeps_its_id(served: Served) -> None:
    (made,) = served.ask(CHANGE, changes=[change("p1", effectiveAt="2026-08-24T13:00:00Z")])["data"]["changePrices"][
        "ids"
    ]
    move = """mutation($id: ID!, $at: DateTime!) {
      reschedulePriceChange(id: $id, effectiveAt: $at, requestedBy: "eve") {
        id effectiveAt status requestedBy caller
        history { step effectiveAt previousEffectiveAt requestedBy caller recordedAt }
      }
    }"""
    moved = served.ask(move, id=made, at="2026-08-24T16:30:00+02:00")["data"]["reschedulePriceChange"]
    assert moved == {
        "id": made,
        "effectiveAt": "2026-08-24T14:30:00Z",
        "status": "SCHEDULED",
        "requestedBy": "ada",
        "caller": None,
        "history": [
            {
                "step": "RESCHEDULED",
                "effectiveAt": "2026-08-24T14:30:00Z",
                "previousEffectiveAt": "2026-08-24T13:00:00Z",
                "requestedBy": "eve",
                "caller": None,
                "recordedAt": "2026-08-24T12:00:00Z",
            }
        ],
    }
    one = "query($id: ID!) { priceChange(id: $id) { id effectiveAt } }"
    assert served.ask(one, id=made)["data"]["priceChange"] == {"id": made, "effectiveAt": "2026-08-24T14:30:00Z"}
    assert served.ask(one, id="nothing") == {"data": {"priceChange": None}}
    (applied,) = served.ask(CHANGE, changes=[change("p2")])["data"]["changePrices"]["ids"]
    assert error(served.ask(move, id=applied, at="2026-08-25T00:00:00Z"))["extensions"]["reason"] == "applied"
    assert error(served.ask(move, id=made, at="noon"))["message"].startswith("effectiveAt: must be an instant")


# The schema's default is one channel; null asks for all.
def test_changes_of_all_channels_are_asked_for_by_null(served: Served) -> None:
    at = "2026-08-24T13:00:00Z"
    served.ask(CHANGE, changes=[change("p1", effectiveAt=at, channel=channel) for channel in ("ALL", "WEB")])
    answer = served.ask(
        """{
          one: priceChanges(store: "s1") { nodes { channel } }
          web: priceChanges(store: "s1", channel: "WEB") { nodes { channel } }
          all: priceChanges(store: "s1", channel: null) { nodes { channel } }
        }"""
    )
    shown = {name: [each["channel"] for each in page["nodes"]] for name, page in answer["data"].items()}
    assert shown == {"one": ["ALL"], "web": ["WEB"], "all": ["ALL", "WEB"]}


def test_a_store_has_a_time_zone_and_local_times(served: Served) -> None:
    zone = 'mutation { setTimeZone(store: "s1", timeZone: "Europe/Berlin") { store timeZone isDefault } }'
    assert served.ask(zone)["data"]["setTimeZone"] == {"store": "s1", "timeZone": "Europe/Berlin", "isDefault": False}
    made = served.ask(CHANGE, changes=[change("p1", effectiveAt="2027-01-01T00:00:00")])["data"]["changePrices"]
    assert made["changes"][0]["effectiveAt"] == "2026-12-31T23:00:00Z"
    move = f'mutation {{ reschedulePriceChange(id: "{made["ids"][0]}", effectiveAt: "2027-02-01") {{ effectiveAt }} }}'
    assert served.ask(move)["data"]["reschedulePriceChange"] == {"effectiveAt": "2027-01-31T23:00:00Z"}
    # Questions are about instants.
    found = error(served.ask('{ price(store: "s1", product: "p1", at: "2027-01-01T00:00:00") { amount } }'))
    assert found["message"].startswith("at: must be an instant with an offset")
    assert served.ask('mutation { setTimeZone(store: "s1") { timeZone } }')["data"]["setTimeZone"]["timeZone"] is None


def error(answer: Any) -> Any:
    (found,) = answer["errors"]
    return found


def test_every_mistake_of_a_list_is_named_by_its_index(served: Served) -> None:
    wrong = [
        change("p2", "4.567"),
        change("", 1),
        change("p3", "cheap"),
        change("p4", effectiveAt="2026-08-24T13:00:00"),
        change("p5", effectiveAt="noon"),
    ]
    answer = served.ask(CHANGE, changes=[change("p1"), *wrong])
    assert answer["data"] is None
    extensions = error(answer)["extensions"]
    assert extensions["code"] == "BAD_REQUEST"
    names = ["[1].amount", "[2].product", "[3].amount", "[4].effectiveAt", "[5].effectiveAt"]
    assert [each.split(":")[0] for each in extensions["details"]] == names
    assert served.ask('{ basePrices(store: "s1") { nodes { product } } }')["data"]["basePrices"]["nodes"] == []


# An amount is one in both, or in none.
@pytest.mark.parametrize("amount", ["1e2", " 1 ", "1_0", "٣", "+5", "-2", "", "NaN", 2.505, -1, 1e30, 10**12, "1" * 70])
def test_amounts_are_those_of_rest(asked: Served, amount: Any) -> None:
    answer = asked.ask(CHANGE, changes=[change("p1", amount)])
    rest = asked.call("POST", "/pricing/changes", [change("p1", amount)])
    assert (rest.status, error(answer)["extensions"]["code"]) == (400, "BAD_REQUEST")
    assert error(answer)["extensions"]["details"] == [each["message"] for each in rest.error["details"]]


@pytest.mark.parametrize("at", ["noon", "2030-01-01T00:00:00", "0001-01-01T00:00:00+14:00"])
def test_an_instant_that_is_none_is_named_in_its_place(asked: Served, at: str) -> None:
    answer = asked.ask(f'{{ price(store: "s1", product: "p1", at: "{at}") {{ amount }} }}')
    found = error(answer)
    assert (found["path"], found["extensions"]["code"], answer["data"]) == (["price"], "BAD_REQUEST", {"price": None})
    assert found["locations"] == [{"line": 1, "column": 3}]
    assert found["message"].startswith("at: ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("first: 2049", "first: must be from 1 to 2,048, not 2049"),
        ("last: 0", "last: must be from 1 to 2,048, not 0"),
        ('first: 1, before: "x"', "use first and after, or last and before, not both"),
        ('after: "nonsense"', "the cursor is not one of this list"),
        ('channel: ""', "channel: must have 1 to 32 bytes, not 0"),
    ],
)
def test_a_page_that_cannot_be_asked_for_is_an_error(asked: Served, arguments: str, message: str) -> None:
    answer = asked.ask(f'{{ basePrices(store: "s1", {arguments}) {{ nodes {{ product }} }} }}')
    found = error(answer)
    assert (answer["data"], found["extensions"], found["path"]) == (None, {"code": "BAD_REQUEST"}, ["basePrices"])
    assert found["message"].startswith(message)


# A page of 64 takes graphql-core 2 ms; no field of ours may bring that back.
def test_all_fields_are_compiled(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Operation, "execute_generally", None)
    served.ask(CHANGE, changes=[change("p1")])
    page = "edges { cursor node { %s __typename } } nodes { %s } pageInfo { hasNextPage startCursor } __typename"
    price = "store product channel kind amount currency effectiveFrom"
    step = "step effectiveAt previousEffectiveAt requestedBy caller recordedAt"
    moved = f"id store product channel kind action amount effectiveAt status requestedBy caller history {{ {step} }}"
    record = "id store product channel kind action amount previousAmount effectiveAt requestedBy caller recordedAt"
    for asked, fields in (
        ('basePrices(store: "s1")', price),
        ('productPrices(product: "p1")', price),
        ('swapPrices(store: "s1", combo: "c")', price),
        ('priceChanges(store: "s1")', moved),
        ('priceHistory(store: "s1", product: "p1")', record),
    ):
        assert "errors" not in served.ask(f"{{ __typename {asked} {{ {page.replace('%s', fields)} }} }}")
    assert "errors" not in served.ask(f'{{ price(store: "s1", product: "p1") {{ {price} }} }}')
    assert "errors" not in served.ask('{ store(store: "s1") { store timeZone isDefault } }')


# The compiled execution passes on what graphql-core coerced, graphql-core's own what Strawberry made of that.
def test_both_executions_make_the_same_changes(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    changes = [
        change("p1", 4),
        change(
            "p1", 4.25, effectiveAt="2026-08-24T15:00:00+02:00", channel=None, kind=None, action=None, currency=None
        ),
        change("menu#fries", "1.5", kind="SWAP", currency="EUR", channel="WEB"),
        change("p2", None, action="DELETE", effectiveAt="2026-08-25T00:00:00Z"),
    ]
    compiled = served.ask(CHANGE, changes=changes)["data"]["changePrices"]["changes"]

    def not_compiled(*_: object) -> None:
        raise NotCompiled

    monkeypatch.setattr(Operation, "_plan", not_compiled)
    general = served.ask(CHANGE, changes=changes)["data"]["changePrices"]["changes"]

    def to_the_minute(made: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{**each, "id": "", "effectiveAt": each["effectiveAt"][:16]} for each in made]

    assert to_the_minute(compiled) == to_the_minute(general)


@pytest.mark.slow
def test_ten_thousand_changes_are_the_most(served: Served) -> None:
    made = served.ask(CHANGE, changes=[change(f"p{number}", store=f"s{number % 20}") for number in range(1_000)])
    assert len(made["data"]["changePrices"]["ids"]) == 1_000
    more = served.ask(CHANGE, changes=[change(f"p{number}") for number in range(10_001)])
    assert error(more)["message"].startswith("The mutations of the request would make 10,001 changes; at most 10,000")

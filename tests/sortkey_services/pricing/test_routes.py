"""REST: every route, with the shapes that clients rely on."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sortkey_services.pricing.serving import Served


def change(product: str, amount: Any = "4.50", store: str = "s1", **others: Any) -> dict[str, Any]:
    return {"store": store, "product": product, "amount": amount, **others}


def products(answer: Any) -> list[str]:
    return [each["product"] for each in answer["items"]]


def test_a_price_has_an_amount_with_two_decimals(served: Served) -> None:
    served.set(change("p1", 4.5))
    served.set(change("p2", "4"), change("p3", 0.1))
    answer = served.call("GET", "/pricing/stores/s1/products/p1")
    assert (answer.status, answer.json()) == (
        200,
        {
            "store": "s1",
            "product": "p1",
            "channel": "ALL",
            "kind": "BASE",
            "amount": 4.5,
            "currency": "EUR",
            "effectiveFrom": "2026-08-24T12:00:00Z",
        },
    )
    page = served.call("GET", "/pricing/stores/s1/prices").json()
    assert [each["amount"] for each in page["items"]] == [4.5, 4.0, 0.1]


def test_what_has_no_price_is_404(served: Served) -> None:
    answer = served.call("GET", "/pricing/stores/s1/products/none?channel=WEB")
    assert (answer.status, answer.error["code"]) == (404, "not_found")
    assert "'none' has no price in the store 's1' and the channel 'WEB'" in answer.error["message"]


def test_pages_go_in_both_directions(served: Served) -> None:
    served.set(*(change(f"p{number}") for number in range(5)))
    first = served.call("GET", "/pricing/stores/s1/prices?first=2").json()
    assert products(first) == ["p0", "p1"]
    assert (first["pageInfo"]["hasNextPage"], first["pageInfo"]["hasPreviousPage"]) == (True, False)
    second = served.call("GET", f"/pricing/stores/s1/prices?first=2&after={first['pageInfo']['endCursor']}").json()
    assert products(second) == ["p2", "p3"]
    assert (second["pageInfo"]["hasNextPage"], second["pageInfo"]["hasPreviousPage"]) == (True, True)
    back = served.call("GET", f"/pricing/stores/s1/prices?last=2&before={second['pageInfo']['startCursor']}").json()
    assert back["items"] == first["items"]


def test_a_page_has_64_items_by_default_and_2048_at_most(served: Served) -> None:
    served.set(*(change(f"p{number:03}") for number in range(70)))
    assert len(served.call("GET", "/pricing/stores/s1/prices").json()["items"]) == 64
    assert len(served.call("GET", "/pricing/stores/s1/prices?last=2048").json()["items"]) == 70
    answer = served.call("GET", "/pricing/stores/s1/prices?first=2049")
    assert (answer.status, answer.error["message"]) == (400, "first: must be from 1 to 2,048, not 2049")


def test_a_product_has_its_prices_by_store(served: Served) -> None:
    served.set(*(change("p1", store=store) for store in ("s2", "s1", "s3")), change("p2"), change("p1", channel="WEB"))
    page = served.call("GET", "/pricing/products/p1/prices?first=2").json()
    assert [each["store"] for each in page["items"]] == ["s1", "s2"]
    assert page["pageInfo"]["hasNextPage"]
    assert len(served.call("GET", "/pricing/products/p1/prices?channel=WEB").json()["items"]) == 1


def test_swaps_are_prices_of_options(served: Served) -> None:
    swaps = [change(f"menu#{option}", kind="SWAP") for option in ("salad", "fries")]
    served.set(change("menu"), *swaps, change("menu2#salad", kind="SWAP"))
    page = served.call("GET", "/pricing/stores/s1/swaps/menu").json()
    assert products(page) == ["menu#fries", "menu#salad"]
    assert products(served.call("GET", "/pricing/stores/s1/prices").json()) == ["menu"]
    everywhere = served.call("GET", "/pricing/products/menu%23salad/prices").json()
    assert [(each["product"], each["kind"]) for each in everywhere["items"]] == [("menu#salad", "SWAP")]
    price = served.call("GET", "/pricing/stores/s1/products/menu%23salad").json()
    assert (price["product"], price["kind"]) == ("menu#salad", "SWAP")


# A `+` that is not percent-encoded arrives as a space; people write it all the same.
@pytest.mark.parametrize(
    ("at", "amount"),
    [
        ("2026-08-24T12:30:00Z", 4.5),
        ("2026-08-24T12:59:59.999Z", 4.5),
        ("2026-08-24T13:00:00Z", 9.0),
        ("2026-08-24T15:00:00%2B02:00", 9.0),
        ("2026-08-24T15:00:00+02:00", 9.0),
        ("2026-08-24T14:59:59+0200", 4.5),
    ],
)
def test_at_asks_about_another_instant(served: Served, at: str, amount: float) -> None:
    served.set(change("p1", 4.5), change("p1", 9, effectiveAt="2026-08-24T15:00:00+02:00"))
    assert served.call("GET", f"/pricing/stores/s1/products/p1?at={at}").json()["amount"] == amount
    (price,) = served.call("GET", f"/pricing/stores/s1/prices?at={at}").json()["items"]
    assert price["amount"] == amount


@pytest.mark.parametrize("at", ["noon", "2026-08-24", "2026-08-24T12:30:00", "2026-08-24%2012:30", "5", "%20"])
def test_an_instant_without_an_offset_is_400(asked: Served, at: str) -> None:
    answer = asked.call("GET", f"/pricing/stores/s1/products/p1?at={at}")
    assert (answer.status, answer.error["code"]) == (400, "invalid_request")
    assert answer.error["message"].startswith("at: must be an instant with an offset")


def test_upcoming_changes_are_listed_and_cancelled(served: Served) -> None:
    _, later, soon = served.set(
        change("p1"),
        change("p1", 9, effectiveAt="2026-08-24T18:00:00Z"),
        change("p2", None, action="DELETE", effectiveAt="2026-08-24T13:00:00Z"),
    )
    page = served.call("GET", "/pricing/stores/s1/changes?from=2026-08-24T12:30:00Z&to=2026-08-25T00:00:00Z").json()
    assert page["items"][0] == {
        "id": soon,
        "store": "s1",
        "product": "p2",
        "channel": "ALL",
        "kind": "BASE",
        "action": "DELETE",
        "amount": None,
        "effectiveAt": "2026-08-24T13:00:00Z",
        "status": "SCHEDULED",
        "requestedBy": "ada",
        "caller": None,
        "recordedAt": "2026-08-24T12:00:00Z",
        "history": [],
    }
    assert [each["id"] for each in page["items"]] == [soon, later]
    assert (
        served.call("GET", "/pricing/stores/s1/changes?to=2026-08-24T14:00:00Z&first=1").json()["items"]
        == page["items"][:1]
    )
    cancelled = served.call("DELETE", f"/pricing/changes/{later}?requestedBy=eve")
    assert (cancelled.status, cancelled.json()["status"]) == (200, "CANCELLED")
    assert served.call("GET", "/pricing/stores/s1/products/p1?at=2026-08-24T19:00:00Z").json()["amount"] == 4.5
    assert served.call("DELETE", "/pricing/changes/nothing").status == 404


def test_changes_of_all_channels_are_one_list_by_time_with_cursors_both_ways(served: Served) -> None:
    named = {
        served.set(change("p1", effectiveAt=f"2026-08-24T{hour}:00:00Z", channel=channel))[0]: channel
        for hour, channel in ((15, "WEB"), (13, "ALL"), (14, "APP"), (16, "WEB"))
    }
    whole = served.call("GET", "/pricing/stores/s1/changes").json()
    assert [each["channel"] for each in whole["items"]] == ["ALL", "APP", "WEB", "WEB"]
    assert {each["id"]: each["channel"] for each in whole["items"]} == named
    first = served.call("GET", "/pricing/stores/s1/changes?first=3").json()
    assert (first["items"], first["pageInfo"]["hasNextPage"]) == (whole["items"][:3], True)
    rest = served.call("GET", f"/pricing/stores/s1/changes?after={first['pageInfo']['endCursor']}").json()
    assert (rest["items"], rest["pageInfo"]["hasNextPage"]) == (whole["items"][3:], False)
    back = served.call("GET", f"/pricing/stores/s1/changes?last=2&before={rest['pageInfo']['startCursor']}").json()
    assert (back["items"], back["pageInfo"]["hasPreviousPage"]) == (whole["items"][1:3], True)
    web = served.call("GET", "/pricing/stores/s1/changes?channel=WEB&first=1").json()
    assert web["items"] == whole["items"][2:3]
    # The list of another channel is another list.
    for other in ("", "&channel=ALL"):
        answer = served.call("GET", f"/pricing/stores/s1/changes?after={web['pageInfo']['endCursor']}{other}")
        assert (answer.status, "the channel is another one" in answer.error["message"]) == (400, True)
    assert served.call("GET", "/pricing/stores/s1/changes?channel=").status == 400


def test_a_change_is_shown_moved_and_cancelled_by_its_id(served: Served) -> None:
    (made,) = served.set(change("p1", effectiveAt="2026-08-24T13:00:00Z"))
    assert served.call("GET", f"/pricing/changes/{made}").json()["status"] == "SCHEDULED"
    body = {"effectiveAt": "2026-08-24T16:30:00+02:00"}
    served.clock.advance(60)
    moved = served.call("PATCH", f"/pricing/changes/{made}?requestedBy=bob", body)
    assert (moved.status, moved.json()) == (
        200,
        {
            "id": made,
            "store": "s1",
            "product": "p1",
            "channel": "ALL",
            "kind": "BASE",
            "action": "SET",
            "amount": 4.5,
            "effectiveAt": "2026-08-24T14:30:00Z",
            "status": "SCHEDULED",
            "requestedBy": "ada",
            "caller": None,
            "recordedAt": "2026-08-24T12:00:00Z",
            "history": [
                {
                    "step": "RESCHEDULED",
                    "effectiveAt": "2026-08-24T14:30:00Z",
                    "previousEffectiveAt": "2026-08-24T13:00:00Z",
                    "requestedBy": "bob",
                    "caller": None,
                    "recordedAt": "2026-08-24T12:01:00Z",
                }
            ],
        },
    )
    assert served.call("GET", f"/pricing/changes/{made}").json() == moved.json()
    assert served.call("GET", "/pricing/stores/s1/changes").json()["items"] == [moved.json()]
    cancelled = served.call("DELETE", f"/pricing/changes/{made}?requestedBy=eve").json()
    assert (cancelled["id"], cancelled["status"]) == (made, "CANCELLED")
    assert cancelled["history"][1] == {
        "step": "CANCELLED",
        "effectiveAt": None,
        "previousEffectiveAt": "2026-08-24T14:30:00Z",
        "requestedBy": "eve",
        "caller": None,
        "recordedAt": "2026-08-24T12:01:00Z",
    }
    assert served.call("GET", f"/pricing/changes/{made}").json() == cancelled
    assert served.call("PATCH", f"/pricing/changes/{made}", body).status == 409


def test_a_change_that_has_taken_effect_cannot_be_cancelled_or_moved(served: Served) -> None:
    (made,) = served.set(change("p1"))
    assert served.call("GET", f"/pricing/changes/{made}").json()["status"] == "APPLIED"
    assert served.call("DELETE", f"/pricing/changes/{made}").status == 409
    answer = served.call("PATCH", f"/pricing/changes/{made}", {"effectiveAt": "2026-08-25T00:00:00Z"})
    assert (answer.status, answer.error["code"]) == (409, "applied")


@pytest.mark.parametrize("method", ["GET", "DELETE", "PATCH"])
def test_an_unknown_change_is_404(asked: Served, method: str) -> None:
    body = {"effectiveAt": "2026-08-25T00:00:00Z"} if method == "PATCH" else None
    assert asked.call(method, "/pricing/changes/nothing", body).status == 404


@pytest.mark.parametrize(
    "body",
    [{}, {"effectiveAt": None}, {"effectiveAt": "noon"}, {"effectiveAt": "2026-08-25T00:00:00"}, {"at": "x"}, [], None],
)
def test_a_change_is_moved_to_an_instant_only(served: Served, body: Any) -> None:
    (made,) = served.set(change("p1", effectiveAt="2026-08-24T13:00:00Z"))
    answer = served.call("PATCH", f"/pricing/changes/{made}", body)
    assert answer.status == 400
    assert served.call("GET", f"/pricing/changes/{made}").json()["effectiveAt"] == "2026-08-24T13:00:00Z"


def test_the_history_has_who_and_from_what_to_what(served: Served) -> None:
    served.set(change("p1", 4.5))
    served.clock.advance(60)
    (made,) = served.set(change("p1", 9))
    page = served.call("GET", "/pricing/stores/s1/products/p1/history").json()
    assert page["items"][1] == {
        "id": made,
        "store": "s1",
        "product": "p1",
        "channel": "ALL",
        "kind": "BASE",
        "action": "SET",
        "amount": 9.0,
        "previousAmount": 4.5,
        "effectiveAt": "2026-08-24T12:01:00Z",
        "requestedBy": "ada",
        "caller": None,
        "recordedAt": "2026-08-24T12:01:00Z",
    }
    assert [each["previousAmount"] for each in page["items"]] == [None, 4.5]


def test_one_change_needs_no_list(served: Served) -> None:
    answer = served.call("POST", "/pricing/changes", change("p1"))
    assert (answer.status, len(answer.json()["ids"])) == (202, 1)


# All or nothing, and every mistake by its index.
def test_a_list_with_mistakes_changes_nothing(served: Served) -> None:
    wrong = [change("p2", "cheap"), {"store": "s1"}, change("p3", kind="NONE"), 5]
    answer = served.call("POST", "/pricing/changes", [change("p1"), *wrong])
    assert answer.status == 400
    details = [each["message"] for each in answer.error["details"]]
    assert [each.split(":")[0] for each in details] == [
        "[1].amount", "[2].product", "[2].amount", "[3].kind", "[4].store",
    ]  # fmt: skip
    assert served.call("GET", "/pricing/stores/s1/prices").json()["items"] == []


@pytest.mark.parametrize("body", [[], [change("p")] * 10_001, [3], "x", 3, None])
def test_what_is_no_list_of_changes_is_400(asked: Served, body: Any) -> None:
    assert asked.call("POST", "/pricing/changes", body).status == 400


@pytest.mark.parametrize(
    "path",
    [
        "/pricing/stores/s1/prices?first=0",
        "/pricing/stores/s1/prices?first=x",
        "/pricing/stores/s1/prices?first=1&last=1",
        "/pricing/stores/s1/prices?after=nonsense",
        f"/pricing/stores/{'s' * 200}/prices",
        "/pricing/stores/s1/changes?from=2026-08-25T00:00:00Z&to=2026-08-24T00:00:00Z",
        f"/pricing/stores/s1/prices?channel={'c' * 100}",
    ],
)
def test_a_question_that_cannot_be_asked_is_400(asked: Served, path: str) -> None:
    answer = asked.call("GET", path)
    assert (answer.status, answer.error["code"]) == (400, "invalid_request")


def test_a_cursor_of_another_list_is_400(served: Served) -> None:
    served.set(change("p1"), change("p2"))
    cursor = served.call("GET", "/pricing/stores/s1/prices?first=1").json()["pageInfo"]["endCursor"]
    assert served.call("GET", f"/pricing/stores/s1/prices?after={cursor}").status == 200
    for path in ("stores/s2/prices", "products/p1/prices", "stores/s1/changes", "stores/s1/products/p1/history"):
        assert served.call("GET", f"/pricing/{path}?after={cursor}").status == 400

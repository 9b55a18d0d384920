"""Tables and rows: browsing by access path, raw requests with their price, edits under conditions."""

from __future__ import annotations

import asyncio
import json
import shlex
from decimal import Decimal
from typing import Any

import pytest

from sortkey.client.stores import ALTERNATOR
from tests.server.console.consoles import Opened, Order, Score, opened, run

HOSTILE = "<script>alert(1)</script>\u0000\u202e'\"`${x}\n</style>"


def on(store: str, use: Any) -> None:
    async def whole() -> None:
        async with opened(store) as shop:
            await use(shop)

    asyncio.run(whole())


async def put_orders(shop: Opened, number: int, customer: str = "ada") -> None:
    for each in range(number):
        await shop.session.put(Order(customer=customer, number=each, total=Decimal(each)))


def test_tables_are_shown_with_their_keys_and_classes(store: str) -> None:
    async def use(shop: Opened) -> None:
        await put_orders(shop, 2)
        tables = {each["name"]: each for each in (await shop.page.call("tables"))["tables"]}
        found = tables["shop"]
        assert (found["service"], found["declared"], found["classes"], found["editable"]) == (
            "shop",
            True,
            ["Order"],
            True,
        )
        assert [each["name"] for each in found["key"]] == ["pk", "sk"]
        projection = "KEYS_ONLY" if shop.session.capabilities.index_projections else "ALL"
        assert (found["stream"], found["indexes"][0]["projection"]) == ("NEW_AND_OLD_IMAGES", projection)

    on(store, use)


def test_the_model_tells_how_paths_are_filled() -> None:
    async def use(shop: Opened) -> None:
        classes = {each["name"]: each for each in (await shop.page.call("model"))["classes"]}
        order = classes["Order"]
        assert (order["doc"], order["service"]) == ("An order of a customer.", "shop")
        key, by_status = order["paths"]
        assert (key["name"], key["partitionTemplate"], key["sortTemplate"]) == (
            "Order.key",
            "CUSTOMER#{customer}",
            "ORDER#{number:06}",
        )
        assert [(each["name"], each["input"]) for each in key["sort"]] == [("number", "integer")]
        assert by_status["index"] == "by_status"
        assert classes["Score"]["paths"][1]["shards"] == 4

    run(use)


def test_a_path_is_browsed_page_by_page(store: str) -> None:
    async def use(shop: Opened) -> None:
        await put_orders(shop, 5)
        asked: dict[str, Any] = {"path": "Order.key", "fields": {"customer": "ada"}, "first": 2}
        numbers: list[str] = []
        after = None
        while True:
            page = await shop.page.call("page", **asked, after=after)
            numbers += [row["fields"]["number"] for row in page["rows"]]
            assert page["request"]["KeyConditionExpression"] == "#pk = :pk AND begins_with(#sk, :sk)"
            after = page["next"]
            if after is None:
                break
        assert numbers == ["0", "1", "2", "3", "4"]
        (row, *_) = page["rows"]
        assert (row["class"], row["partial"], row["item"]["customer"]) == ("Order", False, {"S": "ada"})
        backward = await shop.page.call("page", **asked, descending=True)
        assert [row["fields"]["number"] for row in backward["rows"]] == ["4", "3"]

    on(store, use)


def test_an_exact_path_is_a_get_and_a_range_a_query() -> None:
    async def use(shop: Opened) -> None:
        await put_orders(shop, 5)
        exact = await shop.page.call("page", path="Order.key", fields={"customer": "ada", "number": "3"})
        assert (exact["operation"], len(exact["rows"]), exact["units"]) == ("GetItem", 1, 0.5)
        limited = {"name": "between", "values": ["1", "2"]}
        ranged = await shop.page.call("page", path="Order.key", fields={"customer": "ada"}, range=limited)
        assert [row["fields"]["number"] for row in ranged["rows"]] == ["1", "2"]

    run(use)


# What the meter counts is the services' own use: looking at a page must not make its path wasteful.
def test_what_consoles_read_is_not_metered() -> None:
    async def use(shop: Opened) -> None:
        await put_orders(shop, 3)
        await shop.page.call("page", path="Order.key", fields={"customer": "ada"})
        assert shop.session.meter.reading("Order.key").calls == 0

    run(use)


@pytest.mark.parametrize("descending", [False, True])
def test_a_sharded_path_is_merged_in_order(store: str, descending: bool) -> None:
    async def use(shop: Opened) -> None:
        for each in range(20):
            await shop.session.put(Score(game="go", player=f"p{each:02}", points=each))
        asked: dict[str, Any] = {"path": "Score.top", "fields": {"game": "go"}, "first": 7, "descending": descending}
        points: list[int] = []
        after = None
        while True:
            page = await shop.page.call("page", **asked, after=after)
            points += [int(row["fields"]["points"]) for row in page["rows"]]
            after = page["next"]
            if after is None:
                break
        assert points == (list(range(20)) if descending else list(range(19, -1, -1)))

    on(store, use)


def test_rows_of_a_part_of_the_table_cannot_be_edited_as_they_are() -> None:
    async def use(shop: Opened) -> None:
        await put_orders(shop, 1)
        page = await shop.page.call("page", path="Order.by_status", fields={"status": "NEW"})
        (row,) = page["rows"]
        assert (row["partial"], row["seen"], row["fields"]) == (True, None, {"customer": "ada", "number": "0"})
        whole = await shop.page.call("item", table="shop", key=row["key"])
        assert whole["row"]["seen"] is not None

    run(use)


def test_examples_come_from_the_data() -> None:
    async def use(shop: Opened) -> None:
        await put_orders(shop, 2)
        await put_orders(shop, 1, "bob")
        found = await shop.page.call("examples", path="Order.key")
        assert {"customer": "bob", "number": "0"} in found["examples"]
        narrowed = await shop.page.call("examples", path="Order.key", fields={"customer": "ada"})
        assert [each["number"] for each in narrowed["examples"]] == ["0", "1"]

    run(use)


# A page has at most so many rows, each as long as the table's are.
def test_a_plan_has_the_price_of_the_page_that_it_becomes() -> None:
    async def use(shop: Opened) -> None:
        await put_orders(shop, 20)
        (table,) = [each for each in (await shop.page.call("tables"))["tables"] if each["name"] == "shop"]
        wanted = {"path": "Order.key", "fields": {"customer": "ada"}, "first": 10}
        estimate = (await shop.page.call("plan", **wanted))["estimate"]
        assert (estimate["rows"], estimate["rowBytes"]) == (10, round(table["bytes"] / table["items"]))
        assert (estimate["source"], estimate["atMost"]) == ("by the mean size of the table's rows", True)
        assert (await shop.page.call("page", **wanted))["units"] == estimate["units"]
        one = {"path": "Order.key", "fields": {"customer": "ada", "number": "3"}}
        estimate = (await shop.page.call("plan", **one))["estimate"]
        assert (estimate["rows"], estimate["units"], estimate["atMost"]) == (1, 0.5, False)

    run(use)


def test_a_plan_sends_nothing_and_names_a_missing_field() -> None:
    async def use(shop: Opened) -> None:
        plan = await shop.page.call("plan", path="Order.by_status", fields={"status": "PAID"})
        assert (plan["index"], plan["text"]) == ("by_status", "Order.by_status(status='PAID')")
        assert plan["estimate"]["dollarsPerMillion"] > 0
        answer = await shop.page.post("plan", {"path": "Order.key", "fields": {"number": "1"}})
        assert (answer.status, answer.error["code"]) == (400, "no_access_path")
        wrong = await shop.page.post("plan", {"path": "Order.key", "fields": {"customer": "a", "number": "x"}})
        assert (wrong.status, wrong.error["message"]) == (400, "number: 'x' is not a int")
        none = await shop.page.post("plan", {"path": "Order.none", "fields": {}})
        assert none.status == 404

    run(use)


# A scan is the request that costs most, so its price is known before it runs, for all of its pages.
def test_a_scan_has_its_price_before_it_runs(store: str) -> None:
    async def use(shop: Opened) -> None:
        await put_orders(shop, 40)
        request = {"TableName": "shop", "Limit": 10}
        price = await shop.page.call("price", operation="Scan", request=request)
        assert (price["whole"]["rows"], price["page"]["rows"], price["pages"]) == (40, 10, 4)
        assert price["whole"]["dollars"] > 0
        first = await shop.page.call("run", operation="Scan", request=request)
        assert (len(first["rows"]), first["rowsRead"]) == (10, 10)
        following = await shop.page.call(
            "run", operation="Scan", request={**request, "ExclusiveStartKey": first["next"]}
        )
        assert first["rows"][0]["key"] != following["rows"][0]["key"]

    on(store, use)


# It becomes the request that its WHERE can be, and has that request's price.
def test_a_statement_has_its_price_before_it_runs(store: str) -> None:
    async def use(shop: Opened) -> None:
        if shop.session.capabilities == ALTERNATOR:
            pytest.skip("needs PartiQL")
        await put_orders(shop, 40)
        scan = {"Statement": "SELECT * FROM shop", "Limit": 25}
        price = await shop.page.call("price", operation="ExecuteStatement", request=scan)
        assert (price["whole"]["rows"], price["page"]["rows"], price["pages"]) == (40, 25, 2)
        first = await shop.page.call("run", operation="ExecuteStatement", request=scan)
        rest = await shop.page.call("run", operation="ExecuteStatement", request={**scan, "NextToken": first["next"]})
        keys = [str(row["key"]) for page in (first, rest) for row in page["rows"]]
        assert (len(set(keys)), rest["next"]) == (40, None)
        exact = {
            "Statement": "SELECT total FROM shop WHERE pk = ? AND sk = ?",
            "Parameters": [{"S": "CUSTOMER#ada"}, {"S": "ORDER#000003"}],
        }
        price = await shop.page.call("price", operation="ExecuteStatement", request=exact)
        assert (price["whole"]["rows"], price["whole"]["atMost"]) == (1, False)
        (row,) = (await shop.page.call("run", operation="ExecuteStatement", request=exact))["rows"]
        assert (row["partial"], list(row["item"])) == (True, ["total"])

    on(store, use)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("DELETE FROM shop WHERE pk = 'a' AND sk = 'b'", "Only SELECT runs here"),
        ("INSERT INTO shop VALUE {'pk': 'a', 'sk': 'b'}", "Only SELECT runs here"),
        ("SELECT", "well formed"),
        ('SELECT * FROM "arn:aws:dynamodb:local:000000000000:table/shop"', "names no table"),
        (3, "no Statement"),
    ],
)
def test_statements_that_are_not_run(statement: object, message: str) -> None:
    async def use(shop: Opened) -> None:
        for name in ("price", "run"):
            answer = await shop.page.post(name, {"operation": "ExecuteStatement", "request": {"Statement": statement}})
            assert answer.status == 400
            assert message in answer.error["message"]

    run(use)


def test_only_reads_are_run() -> None:
    async def use(shop: Opened) -> None:
        for operation in ("DeleteTable", "PutItem", "ExecuteStatement", "BatchGetItem"):
            answer = await shop.page.post("run", {"operation": operation, "request": {"TableName": "shop"}})
            assert answer.status == 400
        rejected = await shop.page.post("run", {"operation": "Query", "request": {"TableName": "shop"}})
        assert "ValidationException" in rejected.error["message"]
        absent = await shop.page.post("run", {"operation": "Scan", "request": {"TableName": "none"}})
        assert absent.status == 404

    run(use)


@pytest.mark.slow
def test_a_hundred_thousand_rows_are_paged() -> None:
    async def use(shop: Opened) -> None:
        make_puts = shop.session.client.in_process_puts
        assert make_puts is not None
        puts = make_puts()
        for number in range(100_000):
            puts.add("scores", {"pk": {"S": "GAME#go"}, "sk": {"S": f"{number:06}"}, "points": {"N": "1"}})
        await asyncio.wrap_future(puts.submit().answer)
        page = await shop.page.call("run", operation="Scan", request={"TableName": "scores", "Limit": 1000})
        assert (len(page["rows"]), page["next"] is None) == (1000, False)
        tables = (await shop.page.call("tables"))["tables"]
        assert next(each["items"] for each in tables if each["name"] == "scores") == 100_000
        after, seen = None, set()
        for _ in range(3):
            part = await shop.page.call("page", path="Score.key", fields={"game": "go"}, first=1000, after=after)
            seen |= {row["fields"]["player"] for row in part["rows"]}
            after = part["next"]
        assert len(seen) == 3000

    run(use)


def test_hostile_and_large_rows_pass_as_data() -> None:
    deep: Any = {"S": HOSTILE}
    for _ in range(30):
        deep = {"L": [deep]}
    item = {
        "pk": {"S": HOSTILE},
        "sk": {"S": "<img src=x onerror=alert(1)>"},
        "deep": deep,
        "b": {"B": "AAH/"},
        "set": {"NS": ["1", "2"]},
        "big": {"S": "x" * 390_000},
    }

    async def use(shop: Opened) -> None:
        await shop.page.call("put", table="shop", item=item, seen=None)
        found = await shop.page.call("item", table="shop", key={"pk": item["pk"], "sk": item["sk"]})
        assert found["row"]["item"] == item
        assert (found["row"]["class"], found["row"]["bytes"] > 390_000) == (None, True)

    run(use)


def test_an_edit_is_shown_before_it_is_made(store: str) -> None:
    async def use(shop: Opened) -> None:
        await put_orders(shop, 1)
        row = (await shop.page.call("page", path="Order.key", fields={"customer": "ada", "number": "0"}))["rows"][0]
        edited = {**row["item"], "status": {"S": "PAID"}, "note": {"S": "x"}}
        dry = await shop.page.call("put", table="shop", item=edited, seen=row["seen"], dryRun=True)
        assert (dry["done"], [each["attribute"] for each in dry["changes"]]) == (False, ["status", "note"])
        assert 'status = "NEW"' in dry["condition"]
        assert "attribute_not_exists(note)" in dry["condition"]
        # The index key still says NEW: the edit would hide the order from its readers.
        assert any("by_statuspk" in each for each in dry["warnings"])
        assert dry["fixed"]["by_statuspk"] == {"S": "STATUS#PAID"}
        done = await shop.page.call("put", table="shop", item=dry["fixed"], seen=row["seen"])
        assert (done["done"], done["warnings"], done["row"]["fields"]["status"]) == (True, [], "PAID")
        stored = await shop.session.get(Order.key(customer="ada", number=0))
        assert stored is not None
        assert stored.status == "PAID"

    on(store, use)


def test_an_edit_of_a_row_that_changed_is_rejected(store: str) -> None:
    async def use(shop: Opened) -> None:
        await put_orders(shop, 1)
        row = (await shop.page.call("page", path="Order.key", fields={"customer": "ada", "number": "0"}))["rows"][0]
        await shop.session.update(Order.key(customer="ada", number=0), {"status": "SENT"})
        edited = {**row["item"], "status": {"S": "PAID"}}
        for wanted in ({"item": edited, "seen": row["seen"]}, {"item": edited, "seen": None}):
            answer = await shop.page.post("put", {"table": "shop", **wanted})
            assert (answer.status, answer.json()["error"]["code"]) == (409, "changed")
            assert answer.json()["current"]["fields"]["status"] == "SENT"
        await shop.session.delete(Order.key(customer="ada", number=0))
        gone = await shop.page.post("put", {"table": "shop", "item": edited, "seen": row["seen"]})
        assert (gone.status, gone.json()["current"]) == (409, None)

    on(store, use)


def test_many_rows_are_deleted_after_a_dry_run(store: str) -> None:
    async def use(shop: Opened) -> None:
        await put_orders(shop, 5)
        rows = (await shop.page.call("page", path="Order.key", fields={"customer": "ada"}))["rows"]
        selection = [{"key": row["key"], "seen": row["seen"]} for row in rows]
        await shop.session.update(Order.key(customer="ada", number=1), {"status": "SENT"})
        await shop.session.delete(Order.key(customer="ada", number=2))
        for dry_run, left in ((True, 4), (False, 1)):
            done = await shop.page.call("delete", table="shop", rows=selection, dryRun=dry_run)
            assert (done["done"], done["deleted"], len(done["changed"]), len(done["gone"])) == (not dry_run, 3, 1, 1)
            assert done["units"] > 0
            page = await shop.page.call("page", path="Order.key", fields={"customer": "ada"})
            assert len(page["rows"]) == left

    on(store, use)


# Somebody may write between the server's own read and its write: then the condition says no.
def test_the_write_itself_is_conditional(monkeypatch: pytest.MonkeyPatch) -> None:
    async def use(shop: Opened) -> None:
        await put_orders(shop, 1)
        row = (await shop.page.call("page", path="Order.key", fields={"customer": "ada", "number": "0"}))["rows"][0]
        database = shop.session.client.database
        assert database is not None
        real = database.call

        def call(operation: str, members: dict[str, Any]) -> dict[str, Any]:
            if operation == "DeleteItem":
                real("PutItem", {"TableName": "shop", "Item": {**row["item"], "status": {"S": "RACED"}}})
            return real(operation, members)

        monkeypatch.setattr(database, "call", call)
        done = await shop.page.call("delete", table="shop", rows=[{"key": row["key"], "seen": row["seen"]}])
        assert (done["deleted"], done["changed"]) == (0, [row["key"]])
        stored = await shop.session.get(Order.key(customer="ada", number=0))
        assert stored is not None
        assert stored.status == "RACED"

    run(use)


def test_a_row_with_more_attributes_than_a_condition_takes_is_edited() -> None:
    item = {"pk": {"S": "a"}, "sk": {"S": "b"}, **{f"attribute-{each}": {"N": "1"} for each in range(400)}}

    async def use(shop: Opened) -> None:
        put = await shop.page.call("put", table="shop", item=item, seen=None)
        edited = {**item, "attribute-399": {"N": "2"}}
        done = await shop.page.call("put", table="shop", item=edited, seen=put["row"]["seen"])
        assert "attribute-399 = 1" in done["condition"]

    run(use)


def test_code_is_copied_with_its_values_as_literals() -> None:
    async def use(shop: Opened) -> None:
        hostile = "a'; rm -rf / \"`x`"
        code = await shop.page.call("code", path="Order.key", fields={"customer": hostile}, first=5)
        compile(code["boto3"], "boto3", "exec")
        compile(code["sortkey"], "sortkey", "exec")
        assert f"Order.key(customer={hostile!r})" in code["sortkey"]
        words = shlex.split(code["cli"])
        assert words[:3] == ["aws", "dynamodb", "query"]
        assert json.loads(words[-1])["ExpressionAttributeValues"][":pk"] == {"S": f"CUSTOMER#{hostile}"}
        assert shlex.split(code["curl"])[0] == "curl"
        binary = {"pk": {"S": "a"}, "sk": {"B": "AQ=="}}
        deleting = await shop.page.call("code", edit="delete", table="shop", key=binary)
        assert "b'\\x01'" in deleting["boto3"]

    run(use)


# Services with a prefix know their tables by the names that they declare, and so does the console.
def test_a_prefix_of_table_names_is_hidden() -> None:
    async def use(shop: Opened) -> None:
        await put_orders(shop, 3)
        tables = {each["name"]: each for each in (await shop.page.call("tables"))["tables"]}
        assert (tables["shop"]["service"], tables["shop"]["items"]) == ("shop", 3)
        page = await shop.page.call("page", path="Order.key", fields={"customer": "ada"})
        assert len(page["rows"]) == 3
        database = shop.session.client.database
        assert database is not None
        assert "dev-shop" in database.call("ListTables", {})["TableNames"]

    run(use, url="memory:?prefix=dev-")

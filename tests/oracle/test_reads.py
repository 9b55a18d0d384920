"""Query and Scan on tables and indexes: ranges, pages, filters, projections and what may be selected."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from tests.oracle.pair import Pair
from tests.oracle.tables import index, table
from tests.oracle.walk import walk_apart, walk_together

COUNT = 7
SORT_VALUES = {"S": [{"S": text} for text in ("a", "ab", "abc", "b", "ba", "c", "ca")]}
SORT_VALUES["N"] = [{"N": number} for number in ("-20", "-3.5", "0", "0.5", "7", "70", "700")]
SORT_VALUES["B"] = [{"B": data} for data in ("AA==", "AAE=", "YQ==", "YWI=", "YWJj", "Yg==", "/w==")]


def sorted_by(tag: str) -> dict[str, Any]:
    """A table, a local and a global index, whose sort keys are all of this type."""
    return table(
        "reads",
        "pk",
        "sk",
        types=f"sk:{tag} lk:{tag} gk:{tag}",
        local=[index("local", "pk", "lk")],
        global_=[index("global", "gp", "gk"), index("hashed", "gk", include="KEYS_ONLY")],
    )


def fill(pair: Pair, tag: str) -> None:
    """The same values, each in another order, in the sort keys of the table and of its indexes."""
    pair.create(sorted_by(tag))
    values = SORT_VALUES[tag]
    for position in range(COUNT):
        item = {
            "pk": {"S": "p"},
            "sk": values[position],
            "lk": values[(position * 3) % COUNT],
            "gp": {"S": "g"},
            "gk": values[(position * 5) % COUNT],
            "even": {"BOOL": position % 2 == 0},
            "at": {"N": str(position)},
        }
        pair.answer("PutItem", TableName="reads", Item=item)
        pair.answer("PutItem", TableName="reads", Item=item | {"pk": {"S": "other"}, "gp": {"S": "other"}})


TARGETS: dict[str, dict[str, Any]] = {
    "table": {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": {"S": "p"}}},
    "local": {
        "IndexName": "local",
        "KeyConditionExpression": "pk = :p",
        "ExpressionAttributeValues": {":p": {"S": "p"}},
    },
    "global": {
        "IndexName": "global",
        "KeyConditionExpression": "gp = :p",
        "ExpressionAttributeValues": {":p": {"S": "g"}},
    },
}
SORT_KEYS = {"table": "sk", "local": "lk", "global": "gk"}


def query(target: str, condition: str = "", values: dict[str, Any] | None = None, **members: Any) -> dict[str, Any]:
    request = {"TableName": "reads", **TARGETS[target], **members}
    request["KeyConditionExpression"] += condition
    request["ExpressionAttributeValues"] = request["ExpressionAttributeValues"] | (values or {})
    return request


@pytest.mark.parametrize("forward", [True, False], ids=["forward", "backward"])
@pytest.mark.parametrize("tag", SORT_VALUES)
@pytest.mark.parametrize("target", TARGETS)
def test_pages_at_every_limit(pair: Pair, target: str, tag: str, forward: bool) -> None:
    fill(pair, tag)
    for limit in range(1, COUNT + 2):
        whole = query(target, Limit=limit, ScanIndexForward=forward, ReturnConsumedCapacity="INDEXES")
        assert walk_together(pair, whole) == COUNT
        some = query(target, "", {":even": {"BOOL": True}}, FilterExpression="even = :even", Limit=limit)
        assert walk_together(pair, some | {"ScanIndexForward": forward}) == (COUNT + 1) // 2


# A start key need not be the key of an existing row; it is a position between rows.
@pytest.mark.parametrize("forward", [True, False], ids=["forward", "backward"])
@pytest.mark.parametrize("target", TARGETS)
def test_going_on_from_a_row_that_is_gone(pair: Pair, target: str, forward: bool) -> None:
    fill(pair, "N")
    request = query(target, Limit=2, ScanIndexForward=forward)
    page = pair.answer("Query", **request)
    last = page["Items"][-1]
    pair.answer("DeleteItem", TableName="reads", Key={"pk": last["pk"], "sk": last["sk"]})
    pair.answer("Query", **request, ExclusiveStartKey=page["LastEvaluatedKey"])


@pytest.mark.parametrize("tag", SORT_VALUES)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("operator", ["=", "<", "<=", ">", ">="])
def test_comparisons_of_sort_keys(pair: Pair, target: str, tag: str, operator: str) -> None:
    fill(pair, tag)
    sort_key = SORT_KEYS[target]
    for value in [*SORT_VALUES[tag], {"S": "aa"}, {"N": "5"}, {"B": "AAA="}]:
        for forward in (True, False):
            condition = f" AND {sort_key} {operator} :v"
            pair.same("Query", **query(target, condition, {":v": value}, ScanIndexForward=forward))


@pytest.mark.parametrize("tag", SORT_VALUES)
@pytest.mark.parametrize("target", TARGETS)
def test_ranges_and_prefixes_of_sort_keys(pair: Pair, target: str, tag: str) -> None:
    fill(pair, tag)
    sort_key = SORT_KEYS[target]
    for value in SORT_VALUES[tag]:
        pair.same("Query", **query(target, f" AND begins_with({sort_key}, :v)", {":v": value}))
        for other in SORT_VALUES[tag]:
            between = query(target, f" AND {sort_key} BETWEEN :l AND :h", {":l": value, ":h": other})
            pair.same("Query", **between)


def test_prefixes_that_end_in_the_highest_byte(pair: Pair) -> None:
    pair.create(sorted_by("B"))
    for data in ("/w==", "/wA=", "//8=", "////", "/g==", "AA=="):
        pair.answer("PutItem", TableName="reads", Item={"pk": {"S": "p"}, "sk": {"B": data}})
    for data in ("/w==", "//8=", "////", "AA=="):
        pair.answer("Query", **query("table", " AND begins_with(sk, :v)", {":v": {"B": data}}))
        pair.answer("Query", **query("table", " AND sk > :v", {":v": {"B": data}}))


@pytest.mark.parametrize(
    "condition",
    [
        "pk = :p AND sk > :v AND sk < :v",
        "sk = :v",
        "pk > :p",
        "pk <> :p",
        "pk = :p OR sk = :v",
        "pk = :p AND NOT sk = :v",
        "NOT pk = :p",
        "pk = :p AND sk <> :v",
        "pk = :p AND sk IN (:v)",
        "pk = :p AND contains(sk, :v)",
        "pk = :p AND attribute_exists(sk)",
        "pk = :p AND size(sk) = :v",
        "pk = :p AND at = :v",
        "pk = :p AND at = :v AND sk = :v",
        "pk = :p AND pk = :p",
        "pk = :v",
        ":p = pk",
        ":v < sk AND pk = :p",
        "sk = :v AND pk = :p",
        "(pk = :p) AND (sk = :v)",
        "(pk = :p AND sk = :v)",
        "pk = :p AND sk = sk",
        "pk = sk",
        "pk = :p AND sk.a = :v",
        "pk.a = :p",
        "pk = :p AND begins_with(:v, sk)",
        "pk = :p AND :v BETWEEN sk AND sk",
        "pk = :p AND begins_with(sk, :p)",
        "begins_with(pk, :p)",
        "pk BETWEEN :p AND :p",
        "pk = :p AND sk = :s",
        "pk = :p AND",
        "pk",
        "",
        "pk = :gone",
    ],
)
def test_key_conditions_that_fit_or_not(pair: Pair, condition: str) -> None:
    fill(pair, "N")
    values = {":p": {"S": "p"}, ":v": {"N": "7"}, ":s": {"S": "text"}}
    used = {name: value for name, value in values.items() if name in condition}
    request = {"TableName": "reads", "KeyConditionExpression": condition}
    pair.same("Query", **request, **({"ExpressionAttributeValues": used} if used else {}))


SELECTS = ["ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES", "COUNT", "SPECIFIC_ATTRIBUTES", "SOME"]
PROJECTED: dict[str, dict[str, Any]] = {
    "by_n": {"KeyConditionExpression": "pk = :p"},
    "by_b": {"KeyConditionExpression": "pk = :p"},
    "by_kind": {"KeyConditionExpression": "kind = :p"},
    "by_city": {"KeyConditionExpression": "city = :p"},
    "by_sk": {"KeyConditionExpression": "sk = :p"},
    "none": {"KeyConditionExpression": "pk = :p"},
}


@pytest.fixture
def placed(orders: Pair) -> Pair:
    """Some orders, each in some of the indexes."""
    for position in range(6):
        item = {"pk": {"S": "p"}, "sk": {"S": f"s{position}"}, "note": {"S": "hello"}, "extra": {"N": str(position)}}
        if position % 2:
            item |= {"n": {"N": str(position)}, "kind": {"S": "p"}}
        if position % 3:
            item |= {"b": {"B": b64encode(b"%d" % position).decode()}, "city": {"S": "p"}}
        orders.answer("PutItem", TableName="orders", Item=item)
    return orders


@pytest.mark.parametrize("target", PROJECTED)
@pytest.mark.parametrize("projection", [None, "note", "pk, sk", "extra", "n"])
def test_selects(placed: Pair, target: str, projection: str | None) -> None:
    request = {"TableName": "orders", "ReturnConsumedCapacity": "INDEXES"}
    if target != "none":
        request["IndexName"] = target
    if projection is not None:
        request["ProjectionExpression"] = projection
    for select in (None, *SELECTS):
        members = request if select is None else request | {"Select": select}
        if target != "by_city":  # its rows have equal keys, so their order may differ
            values = {"ExpressionAttributeValues": {":p": {"S": "p"}}}
            placed.same("Query", **members, **PROJECTED[target], **values)
        placed.same("Scan", **members)


@pytest.mark.parametrize("target", PROJECTED)
@pytest.mark.parametrize("attribute", ["pk", "sk", "n", "note", "extra", "city"])
def test_filters_on_what_an_index_may_not_hold(placed: Pair, target: str, attribute: str) -> None:
    request: dict[str, Any] = {"TableName": "orders", "FilterExpression": f"attribute_exists({attribute})"}
    if target != "none":
        request["IndexName"] = target
    placed.same("Scan", **request)
    if target != "by_city":
        values = {"ExpressionAttributeValues": {":p": {"S": "p"}}}
        placed.same("Query", **request, **PROJECTED[target], **values)


@pytest.mark.parametrize("consistent", [True, False])
@pytest.mark.parametrize("target", PROJECTED)
def test_consistent_reads(placed: Pair, target: str, consistent: bool) -> None:
    request: dict[str, Any] = {"TableName": "orders", "ConsistentRead": consistent, "ReturnConsumedCapacity": "TOTAL"}
    if target != "none":
        request["IndexName"] = target
    placed.same("Scan", **request)


@pytest.mark.parametrize("target", PROJECTED)
@pytest.mark.parametrize("total", [1, 2, 3, 10])
def test_scans_in_segments(placed: Pair, target: str, total: int) -> None:
    request = {"TableName": "orders"} | ({} if target == "none" else {"IndexName": target})
    whole, counts = placed.answer("Scan", **request)["Count"], []
    for side in (placed.ours, placed.theirs):
        parts = [side.call("Scan", request | {"Segment": part, "TotalSegments": total}) for part in range(total)]
        counts.append(sum(part["Count"] for part in parts))
    assert counts == [whole, whole]


@pytest.mark.parametrize(
    "members",
    [
        {"Segment": 0},
        {"TotalSegments": 2},
        {"Segment": 2, "TotalSegments": 2},
        {"Segment": -1, "TotalSegments": 2},
        {"Segment": 0, "TotalSegments": 0},
        {"Segment": 0, "TotalSegments": 1_000_001},
        {"Limit": 0},
        {"Limit": -1},
        {"IndexName": "missing"},
        {"IndexName": "x"},
        {"ExclusiveStartKey": {"pk": {"S": "p"}}},
        {"ExclusiveStartKey": {"pk": {"S": "p"}, "sk": {"N": "1"}}},
        {"ExclusiveStartKey": {"pk": {"S": "p"}, "sk": {"S": "s"}, "n": {"N": "1"}}},
        {"IndexName": "by_n", "ExclusiveStartKey": {"pk": {"S": "p"}, "sk": {"S": "s"}}},
        {"IndexName": "by_n", "ExclusiveStartKey": {"pk": {"S": "p"}, "sk": {"S": "s"}, "n": {"S": "1"}}},
        {"ConditionalOperator": "AND"},
        {"ExpressionAttributeValues": {":v": {"S": "x"}}},
        {"ExpressionAttributeNames": {"#v": "x"}},
        {"FilterExpression": "attribute_exists(pk)", "ScanFilter": {}},
    ],
    ids=lambda members: " ".join(f"{name}={value}"[:50] for name, value in members.items()),
)
def test_scans_that_are_rejected(placed: Pair, members: dict[str, Any]) -> None:
    placed.same("Scan", TableName="orders", **members)


@pytest.mark.parametrize(
    "start",
    [
        {"pk": {"S": "p"}, "sk": {"S": "s3"}},
        {"pk": {"S": "p"}, "sk": {"S": "a"}},
        {"pk": {"S": "p"}, "sk": {"S": "zzz"}},
        {"pk": {"S": "other"}, "sk": {"S": "s3"}},
        {"pk": {"S": "p"}},
        {"pk": {"S": "p"}, "sk": {"N": "3"}},
        {"pk": {"S": "p"}, "sk": {"S": "s3"}, "n": {"N": "3"}},
        {},
    ],
    ids=str,
)
@pytest.mark.parametrize("condition", ["pk = :p", "pk = :p AND sk > :s", "pk = :p AND sk < :s", "pk = :p AND sk = :s"])
def test_queries_that_go_on_from_anywhere(placed: Pair, start: dict[str, Any], condition: str) -> None:
    values = {":p": {"S": "p"}} | ({":s": {"S": "s2"}} if ":s" in condition else {})
    for forward in (True, False):
        placed.same(
            "Query",
            TableName="orders",
            KeyConditionExpression=condition,
            ExpressionAttributeValues=values,
            ExclusiveStartKey=start,
            ScanIndexForward=forward,
        )


@pytest.mark.parametrize("limit", range(1, 8))
def test_scan_pages_at_every_limit(placed: Pair, limit: int) -> None:
    assert walk_apart(placed, "Scan", {"TableName": "orders", "Limit": limit}) == 6
    assert walk_apart(placed, "Scan", {"TableName": "orders", "IndexName": "by_kind", "Limit": limit}) == 3
    walk_apart(placed, "Scan", {"TableName": "orders", "IndexName": "by_city", "Limit": limit})
    filtered = {"FilterExpression": "extra > :v", "ExpressionAttributeValues": {":v": {"N": "2"}}}
    walk_apart(placed, "Scan", {"TableName": "orders", "Limit": limit, **filtered})


# DynamoDB does not promise an order of rows with the same index key, but each must come exactly once.
@pytest.mark.parametrize("limit", range(1, 9))
@pytest.mark.parametrize("forward", [True, False], ids=["forward", "backward"])
def test_pages_among_equal_index_keys(orders: Pair, limit: int, forward: bool) -> None:
    for position in range(7):
        item = {"pk": {"S": f"p{position}"}, "sk": {"S": "s"}, "kind": {"S": "k"}, "n": {"N": str(position // 3)}}
        orders.answer("PutItem", TableName="orders", Item=item)
    request = {
        "TableName": "orders",
        "IndexName": "by_kind",
        "KeyConditionExpression": "kind = :k",
        "ExpressionAttributeValues": {":k": {"S": "k"}},
        "Limit": limit,
        "ScanIndexForward": forward,
    }
    assert walk_apart(orders, "Query", request) == 7

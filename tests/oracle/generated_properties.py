"""Random requests on few keys of a table with every type of index: both sides must agree at each step, and have the
same items at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.oracle.difference import Request
from tests.oracle.pair import Pair
from tests.oracle.tables import ORDERS

names: Iterator[int] = count()

numbers = st.sampled_from(["0", "1", "-1", "2.5", "10", "1e3", "0.001"])
texts = st.sampled_from(["", "a", "b", "ab", "ä"])
scalars = st.one_of(
    st.builds(lambda text: {"S": text}, texts),
    st.builds(lambda number: {"N": number}, numbers),
    st.sampled_from([{"BOOL": True}, {"NULL": True}, {"B": "YQ=="}, {"B": ""}]),
)
sets = st.one_of(
    st.builds(lambda members: {"SS": members}, st.lists(texts, min_size=1, max_size=3, unique=True)),
    st.builds(lambda members: {"NS": members}, st.lists(numbers, min_size=1, max_size=3, unique=True)),
)
values: st.SearchStrategy[dict[str, Any]] = st.recursive(
    scalars | sets,
    lambda inner: st.one_of(
        st.builds(lambda elements: {"L": elements}, st.lists(inner, max_size=3)),
        st.builds(lambda members: {"M": members}, st.dictionaries(st.sampled_from("xyz"), inner, max_size=3)),
    ),
    max_leaves=4,
)

keys = st.builds(
    lambda pk, sk: {"pk": {"S": pk}, "sk": {"S": sk}}, st.sampled_from(["p", "q"]), st.sampled_from(["a", "b", "c"])
)
index_keys = st.fixed_dictionaries(
    {},
    optional={
        "n": st.builds(lambda number: {"N": number}, numbers),
        "b": st.sampled_from([{"B": "YQ=="}, {"B": "Yg=="}]),
        "kind": st.sampled_from([{"S": "k"}, {"S": "l"}]),
        "city": st.sampled_from([{"S": "k"}]),
        "note": texts.map(lambda text: {"S": text}),
    },
)
others = st.dictionaries(st.sampled_from(["v", "w", "m", "li"]), values, max_size=3)
items = st.builds(lambda key, indexed, more: {**more, **indexed, **key}, keys, index_keys, others)

conditions = st.sampled_from(
    [
        {},
        {},
        {"ConditionExpression": "attribute_exists(pk)"},
        {"ConditionExpression": "attribute_not_exists(pk)"},
        {"ConditionExpression": "attribute_exists(v) OR attribute_exists(n)"},
        {"ConditionExpression": "size(v) > size(w)"},
        {"ConditionExpression": "attribute_type(m, :t)", "ExpressionAttributeValues": {":t": {"S": "M"}}},
        {
            "ConditionExpression": "n BETWEEN :l AND :h",
            "ExpressionAttributeValues": {":l": {"N": "0"}, ":h": {"N": "5"}},
        },
    ]
)
updates = st.sampled_from(
    [
        "SET v = w",
        "SET v = if_not_exists(v, w)",
        "SET m.x = v",
        "SET li[0] = v, m.y = w",
        "SET li = list_append(li, li)",
        "SET note = sk, city = kind",
        "SET kind = sk REMOVE city",
        "REMOVE n",
        "REMOVE kind, v, m.x, li[0]",
        "REMOVE li[1], note",
        "SET v = n + n",
    ]
)
valued_updates = st.tuples(
    st.sampled_from(["SET v = :v", "SET m.x = :v", "SET li[1] = :v", "ADD v :v", "DELETE v :v", "SET w = :v REMOVE v"]),
    values,
)
returned = st.sampled_from(["NONE", "ALL_OLD", "ALL_NEW"])
returned_old = st.sampled_from(["NONE", "ALL_OLD"])


def update(key: dict[str, Any], change: Any, condition: dict[str, Any], wanted: str) -> Request:
    expression, value = (change, None) if isinstance(change, str) else change
    request = {"Key": key, "UpdateExpression": expression, "ReturnValues": wanted, **condition}
    if value is not None:
        request["ExpressionAttributeValues"] = condition.get("ExpressionAttributeValues", {}) | {":v": value}
    return "UpdateItem", request


writes: st.SearchStrategy[Request] = st.one_of(
    st.builds(
        lambda item, condition, wanted: ("PutItem", {"Item": item, "ReturnValues": wanted, **condition}),
        items,
        conditions,
        returned_old,
    ),
    st.builds(update, keys, updates | valued_updates, conditions, returned),
    st.builds(
        lambda key, condition, wanted: ("DeleteItem", {"Key": key, "ReturnValues": wanted, **condition}),
        keys,
        conditions,
        returned_old,
    ),
)

READS: list[Request] = [
    ("Scan", {}),
    ("Scan", {"IndexName": "by_kind"}),
    ("Scan", {"IndexName": "by_city"}),
    ("Scan", {"IndexName": "by_sk"}),
    ("Scan", {"IndexName": "by_n"}),
    ("Scan", {"IndexName": "by_b"}),
    ("Query", {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": {"S": "p"}}}),
    (
        "Query",
        {
            "KeyConditionExpression": "pk = :p AND sk > :s",
            "ExpressionAttributeValues": {":p": {"S": "q"}, ":s": {"S": "a"}},
            "ScanIndexForward": False,
        },
    ),
]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(steps=st.lists(writes, min_size=1, max_size=25))
def test_both_sides_agree(pair: Pair, steps: list[Request]) -> None:
    table = {"TableName": f"orders{next(names)}"}
    pair.create(ORDERS | table)
    for operation, members in steps:
        pair.compare(operation, table | members | {"ReturnConsumedCapacity": "INDEXES"})
    for operation, members in READS:
        pair.answer(operation, **table, **members)
    pair.both("DeleteTable", table)

"""UpdateItem: SET, REMOVE, ADD and DELETE on every type and at every depth, and what is returned."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from tests.oracle.pair import Pair
from tests.oracle.samples import BY_TYPE, VARIANTS, Value

KEY = {"pk": {"S": "x"}}
RETURNED = ("NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW")
DOCUMENT: dict[str, Value] = KEY | {
    "s": {"S": "text"},
    "n": {"N": "10"},
    "z": {"NULL": True},
    "li": {"L": [{"N": "0"}, {"N": "1"}, {"N": "2"}, {"N": "3"}]},
    "m": {"M": {"x": {"N": "1"}, "y": {"L": [{"S": "a"}, {"M": {"deep": {"S": "b"}}}]}, "e": {"M": {}}}},
    "ss": {"SS": ["a", "b"]},
    "ns": {"NS": ["1", "2"]},
    "bs": {"BS": ["YQ==", "Yg=="]},
}
VALUES: dict[str, Value] = {
    ":s": {"S": "new"},
    ":n": {"N": "5"},
    ":l": {"L": [{"S": "p"}, {"S": "q"}]},
    ":m": {"M": {"k": {"S": "v"}}},
    ":ss": {"SS": ["b", "c"]},
    ":ns": {"NS": ["2.0", "3"]},
    ":bs": {"BS": ["Yg==", "Yw=="]},
}

EXPRESSIONS = [
    "SET s = :s",
    "SET added = :s",
    "SET s = :s, n = :n",
    "SET n = n + :n",
    "SET n = n - :n",
    "SET n = :n - n",
    "SET n = :n + :n",
    "SET n = n + n",
    "SET added = n",
    "SET added = gone",
    "SET n = gone + :n",
    "SET s = s + :n",
    "SET n = n + :s",
    "SET s = n, n = s",
    "SET n = if_not_exists(n, :n)",
    "SET added = if_not_exists(added, :n)",
    "SET added = if_not_exists(n, :n)",
    "SET added = if_not_exists(gone, n)",
    "SET added = if_not_exists(gone, gone2)",
    "SET n = if_not_exists(n, :n) + :n",
    "SET added = if_not_exists(added, :n) + :n",
    "SET added = if_not_exists(gone, if_not_exists(gone2, :s))",
    "SET li = list_append(li, :l)",
    "SET li = list_append(:l, li)",
    "SET li = list_append(li, li)",
    "SET added = list_append(:l, :l)",
    "SET added = list_append(if_not_exists(added, :l), :l)",
    "SET li = list_append(s, :l)",
    "SET li = list_append(gone, :l)",
    "SET li = list_append(li, :s)",
    "SET li = list_append(li, :l) + :n",
    "SET m.x = :s",
    "SET m.added = :s",
    "SET m.e.k = :s",
    "SET m.gone.k = :s",
    "SET gone.k = :s",
    "SET s.k = :s",
    "SET li.k = :s",
    "SET m[0] = :s",
    "SET li[0] = :s",
    "SET li[1] = :s, li[3] = :n",
    "SET li[4] = :s",
    "SET li[9] = :s",
    "SET li[8] = :s, li[7] = :n",
    "SET gone[0] = :s",
    "SET m.y[0] = :s",
    "SET m.y[1].deep = :m",
    "SET m.y[1].other = m.y[0]",
    "SET m.y[5].other = :s",
    "SET li[0] = li[1], li[1] = li[0]",
    "SET m = :m",
    "SET m = m.y[1]",
    "REMOVE s",
    "REMOVE gone",
    "REMOVE s, n, gone",
    "REMOVE li[0]",
    "REMOVE li[1], li[2]",
    "REMOVE li[9]",
    "REMOVE m.x",
    "REMOVE m.gone",
    "REMOVE gone.k",
    "REMOVE m.y[1].deep",
    "REMOVE m.y[0], m.y[1]",
    "REMOVE s.k",
    "REMOVE li[0], li[0]",
    "SET li[0] = :s REMOVE li[1]",
    "SET li[4] = :s REMOVE li[0]",
    "REMOVE li[0] SET li[2] = :s",
    "ADD n :n",
    "ADD added :n",
    "ADD added :ss",
    "ADD s :n",
    "ADD n :ss",
    "ADD ss :ss",
    "ADD ns :ns",
    "ADD bs :bs",
    "ADD ss :ns",
    "ADD n :s",
    "ADD n :l",
    "ADD n n",
    "ADD m.x :n",
    "ADD m.added :n",
    "ADD m.e.k :ss",
    "ADD li[0] :n",
    "ADD li[9] :n",
    "ADD gone.k :n",
    "DELETE ss :ss",
    "DELETE ns :ns",
    "DELETE bs :bs",
    "DELETE gone :ss",
    "DELETE ss :ns",
    "DELETE s :ss",
    "DELETE ss :s",
    "DELETE n :n",
    "DELETE m.gone :ss",
    "SET s = :s REMOVE n ADD added :n DELETE ss :ss",
    "ADD n :n SET s = :s",
    "set s = :s remove n",
    "SET s = :s, s = :s",
    "SET s = :s REMOVE s",
    "SET m = :m, m.x = :n",
    "SET m.x = :n, m.x.y = :n",
    "SET li[0] = :n, li.k = :n",
    "SET m.y[0] = :n, m.y.k = :n",
    "SET pk = :s",
    "REMOVE pk",
    "ADD pk :n",
    "SET pk.x = :s",
    "SET s = :s SET n = :n",
    "REMOVE s REMOVE n",
    "SET",
    "SET s",
    "SET s =",
    "SET s = :s,",
    "SET s := :s",
    "SET = :s",
    "REMOVE",
    "ADD n",
    "ADD n = :n",
    "DELETE ss",
    "",
    "s = :s",
    "SET s = :gone",
    "SET #gone = :s",
    "SET name = :s",
    "SET s = (:s)",
    "SET n = n + :n + :n",
    "SET n = n * :n",
    "SET n = -:n",
    "SET s = size(s)",
    "SET s = unknown(s)",
    "SET s = if_not_exists(s)",
    "SET s = if_not_exists(s, :s, :s)",
    "SET s = if_not_exists(:s, s)",
    "SET s = if_not_exists(s, s)",
    "SET li = list_append(li)",
    "SET s = attribute_exists(s)",
    "SET s = s = :s",
]


def update(expression: str, **members: Any) -> dict[str, Any]:
    used = {
        name: value for name, value in VALUES.items() if name in expression.replace(",", " ").replace(")", " ").split()
    }
    used |= {name: VALUES[name] for name in VALUES if f"({name}" in expression}
    request = {"TableName": "plain", "Key": KEY, "UpdateExpression": expression, **members}
    return request | ({"ExpressionAttributeValues": used} if used else {})


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_updates_of_a_document(plain: Pair, expression: str) -> None:
    for returned in RETURNED:
        plain.answer("PutItem", TableName="plain", Item=DOCUMENT)
        plain.same("UpdateItem", **update(expression, ReturnValues=returned))
    plain.answer("GetItem", TableName="plain", Key=KEY)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_updates_of_an_item_that_is_not_there(plain: Pair, expression: str) -> None:
    plain.same("UpdateItem", **update(expression, ReturnValues="UPDATED_NEW"))
    plain.same("GetItem", TableName="plain", Key=KEY)


@pytest.mark.parametrize("returned", [*RETURNED, "SOME"])
def test_an_update_of_nothing(plain: Pair, returned: str) -> None:
    for _ in range(2):
        plain.same("UpdateItem", TableName="plain", Key=KEY, ReturnValues=returned)
        plain.answer("Scan", TableName="plain")


@pytest.mark.parametrize("stored", BY_TYPE)
def test_actions_on_every_type(plain: Pair, stored: str) -> None:
    item = KEY | {"a": BY_TYPE[stored]}
    for expression, operand in product(
        ("ADD a :v", "DELETE a :v", "SET a = a + :v", "SET a = :v - a", "SET a = list_append(a, :v)", "SET a = :v"),
        BY_TYPE.values(),
    ):
        plain.answer("PutItem", TableName="plain", Item=item)
        plain.same(
            "UpdateItem",
            TableName="plain",
            Key=KEY,
            UpdateExpression=expression,
            ExpressionAttributeValues={":v": operand},
            ReturnValues="ALL_NEW",
        )


@pytest.mark.parametrize("stored", VARIANTS)
def test_values_are_set_as_they_are_put(plain: Pair, stored: str) -> None:
    request = {"TableName": "plain", "Key": KEY, "UpdateExpression": "SET a = :v, b.c = a"}
    plain.answer("PutItem", TableName="plain", Item=KEY | {"a": VARIANTS[stored], "b": {"M": {}}})
    plain.answer("UpdateItem", **request, ExpressionAttributeValues={":v": {"L": [VARIANTS[stored]]}})
    plain.answer("GetItem", TableName="plain", Key=KEY)

"""A random statement does what the operation does that it stands for: the same items, the same errors, the same units.

Statements go to one table, requests to its twin.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sortkey.engine.database import Database
from sortkey.errors import DynamoDBError
from sortkey.expressions.tree import (
    Action,
    Add,
    Arithmetic,
    Between,
    Call,
    Comparison,
    Condition,
    Delete,
    Junction,
    Membership,
    Not,
    Operand,
    Path,
    Set,
    Value,
)
from tests.expressions.strategies import bound, conditions, items, spell_condition, spell_path, spell_update, updates

pytestmark = pytest.mark.slow

KEY = {"pk": {"S": "p"}, "sk": {"N": "1"}}
PLACEHOLDER = re.compile(r":[a-z]+")
PARAMETER = re.compile(r"Invalid [A-Za-z]*Expression: ")
Outcome = tuple[str, Any]


class Spelled:
    """The PartiQL of trees; each value is a literal or a parameter, as `literal` draws it."""

    def __init__(self, values: dict[str, Any], literal: st.DataObject) -> None:
        self._values = values
        self._literal = literal
        self.parameters: list[Any] = []

    def condition(self, tree: Condition) -> str:
        match tree:
            case Comparison():
                return f"{self.operand(tree.left)} {tree.operator} {self.operand(tree.right)}"
            case Between():
                operand, low, high = map(self.operand, (tree.operand, tree.low, tree.high))
                return f"{operand} BETWEEN {low} AND {high}"
            case Membership():
                operand, *choices = map(self.operand, (tree.operand, *tree.choices))
                return f"{operand} IN [{', '.join(choices)}]"
            case Call():
                return self.operand(tree)
            case Not():
                return f"NOT ({self.condition(tree.condition)})"
            case Junction():
                return f" {tree.operator} ".join(f"({self.condition(part)})" for part in tree.conditions)

    def operand(self, operand: Operand | Arithmetic) -> str:
        match operand:
            case Path():
                return spell_path(operand)
            case Value():
                return self.value(self._values[operand.placeholder])
            case Arithmetic():
                return f"{self.operand(operand.left)} {operand.operator} {self.operand(operand.right)}"
            case Call():
                return f"{operand.function}({', '.join(map(self.operand, operand.arguments))})"
        raise AssertionError(operand)

    def value(self, value: dict[str, Any]) -> str:
        text = None if self._literal.draw(st.booleans()) else literal(value)
        if text is not None:
            return text
        self.parameters.append(value)
        return "?"

    def actions(self, actions: tuple[Action, ...]) -> str:
        return " ".join(map(self._action, actions))

    def _action(self, action: Action) -> str:
        path = spell_path(action.path)
        match action:
            case Set():
                return f"SET {path} = {self.operand(action.value)}"
            case Add():
                return f"SET {path} = set_add({path}, {self.operand(action.value)})"
            case Delete():
                return f"SET {path} = set_delete({path}, {self.operand(action.value)})"
            case _:
                return f"REMOVE {path}"


def literal(value: dict[str, Any]) -> str | None:
    """None if the value has binary, for which PartiQL has no literal."""
    ((tag, content),) = value.items()
    match tag:
        case "S":
            text: str = content
            return "'" + text.replace("'", "''") + "'"
        case "N":
            return str(content)
        case "BOOL" | "NULL":
            return "NULL" if tag == "NULL" else str(content)
        case "SS" | "NS" | "L":
            elements = content if tag == "L" else [{tag[0]: element} for element in content]
            texts = [literal(element) for element in elements]
            opening, closing = "[]" if tag == "L" else ("<<", ">>")
            return None if None in texts else f"{opening}{', '.join(map(str, texts))}{closing}"
        case "M":
            members = {name: literal(member) for name, member in content.items()}
            return None if None in members.values() else _struct(members)
    return None


def _struct(members: dict[str, str | None]) -> str:
    return "{" + ", ".join(f"'{name}': {text}" for name, text in members.items()) + "}"


def constants_only(tree: Condition) -> Condition:
    """PartiQL's IN has no attributes on its right."""
    match tree:
        case Membership():
            return Membership(tree.operand, tuple(each for each in tree.choices if isinstance(each, Value)) or (ANY,))
        case Not():
            return Not(constants_only(tree.condition))
        case Junction():
            return Junction(tree.operator, tuple(map(constants_only, tree.conditions)))
    return tree


ANY = Value(":any")
wheres = conditions.map(constants_only)


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with closing(Database(None)) as database:
        for name in ("said", "asked"):
            database.call(
                "CreateTable",
                {
                    "TableName": name,
                    "KeySchema": [
                        {"AttributeName": "pk", "KeyType": "HASH"},
                        {"AttributeName": "sk", "KeyType": "RANGE"},
                    ],
                    "AttributeDefinitions": [
                        {"AttributeName": "pk", "AttributeType": "S"},
                        {"AttributeName": "sk", "AttributeType": "N"},
                    ],
                    "BillingMode": "PAY_PER_REQUEST",
                },
            )
        yield database


def lay_out(database: Database, given: list[dict[str, Any]]) -> None:
    for name in ("said", "asked"):
        for item in database.call("Scan", {"TableName": name})["Items"]:
            database.call("DeleteItem", {"TableName": name, "Key": {each: item[each] for each in KEY}})
        for number, item in enumerate(given):
            key = {"pk": {"S": "pq"[number % 2]}, "sk": {"N": str(number)}}
            database.call("PutItem", {"TableName": name, "Item": {**item, **key}})


def said(database: Database, statement: str, parameters: list[Any]) -> Outcome:
    """The items that a statement returns, and its units; or its error."""
    members: dict[str, Any] = {"Statement": statement, "ReturnConsumedCapacity": "TOTAL"}
    try:
        answer = database.call("ExecuteStatement", members | ({"Parameters": parameters} if parameters else {}))
    except DynamoDBError as error:
        return error.code, error.message
    return "answer", (answer["Items"], answer["ConsumedCapacity"]["CapacityUnits"])


def asked(database: Database, operation: str, values: dict[str, Any], **members: Any) -> Outcome:
    texts = " ".join(text for text in members.values() if isinstance(text, str))
    used = {name: values[name] for name in PLACEHOLDER.findall(texts)}
    request = {"TableName": "asked", "ReturnConsumedCapacity": "TOTAL", **members}
    try:
        answer = database.call(operation, request | ({"ExpressionAttributeValues": used} if used else {}))
    except DynamoDBError as error:
        return error.code, PARAMETER.sub("", error.message.removeprefix("1 validation error detected: "))
    found = answer.get("Items", [answer["Attributes"]] if "Attributes" in answer else [])
    return "answer", (found, answer["ConsumedCapacity"]["CapacityUnits"])


def same_rows(database: Database) -> None:
    one, other = (database.call("Scan", {"TableName": name}) for name in ("said", "asked"))
    assert one == other


stored = st.lists(items, max_size=4)


@given(stored, wheres, bound, st.data())
def test_a_select_by_conditions_is_a_scan(
    database: Database, given: list[dict[str, Any]], where: Condition, values: dict[str, Any], data: st.DataObject
) -> None:
    lay_out(database, given)
    spelled = Spelled(values, data)
    text = spelled.condition(where)
    expected = asked(database, "Scan", values, FilterExpression=spell_condition(where))
    assert said(database, f"SELECT * FROM said WHERE {text}", spelled.parameters) == expected


@given(stored, wheres, bound, st.sampled_from(["", " AND sk > 0", " AND sk BETWEEN 0 AND 2"]), st.data())
def test_a_select_by_a_partition_is_a_query(
    database: Database,
    given: list[dict[str, Any]],
    where: Condition,
    values: dict[str, Any],
    sort: str,
    data: st.DataObject,
) -> None:
    lay_out(database, given)
    spelled = Spelled(values, data)
    forward = data.draw(st.booleans())
    text = f"({spelled.condition(where)}) AND pk = 'p'{sort} ORDER BY sk {'ASC' if forward else 'DESC'}"
    wanted = {":p": {"S": "p"}, ":zero": {"N": "0"}, ":two": {"N": "2"}}
    expected = asked(
        database,
        "Query",
        values | wanted,
        KeyConditionExpression="pk = :p" + sort.replace("0", ":zero").replace("2", ":two"),
        FilterExpression=spell_condition(where),
        ScanIndexForward=forward,
    )
    assert said(database, f"SELECT * FROM said WHERE {text}", spelled.parameters) == expected


@given(stored, st.integers(0, 3))
def test_a_select_by_the_key_is_a_get(database: Database, given: list[dict[str, Any]], number: int) -> None:
    lay_out(database, given)
    key = {"pk": {"S": "p"}, "sk": {"N": str(number)}}
    answer = database.call("GetItem", {"TableName": "asked", "Key": key, "ReturnConsumedCapacity": "TOTAL"})
    items = [answer["Item"]] if "Item" in answer else []
    expected = ("answer", (items, answer["ConsumedCapacity"]["CapacityUnits"]))
    assert said(database, f"SELECT * FROM said WHERE sk = {number} AND pk = 'p'", []) == expected


@given(stored, items, st.integers(0, 3), st.data())
def test_an_insert_is_a_put_of_a_new_item(
    database: Database, given: list[dict[str, Any]], item: dict[str, Any], number: int, data: st.DataObject
) -> None:
    lay_out(database, given)
    spelled = Spelled({}, data)
    new = {**item, "pk": {"S": "p"}, "sk": {"N": str(number)}}
    text = _struct({name: spelled.value(value) for name, value in new.items()})
    outcome = said(database, f"INSERT INTO said VALUE {text}", spelled.parameters)
    expected = asked(database, "PutItem", {}, Item=new, ConditionExpression="attribute_not_exists(pk)")
    if expected[0] == "ConditionalCheckFailedException":
        assert outcome[0] == "DuplicateItemException"
    else:
        assert outcome == expected
    same_rows(database)


RETURNING = {
    "NONE": "",
    "ALL_OLD": "RETURNING ALL OLD *",
    "ALL_NEW": "RETURNING ALL NEW *",
    "UPDATED_OLD": "RETURNING MODIFIED OLD *",
    "UPDATED_NEW": "RETURNING MODIFIED NEW *",
}


@given(stored, updates, wheres, bound, st.integers(0, 3), st.sampled_from([*RETURNING]), st.data())
def test_an_update_is_an_update_of_an_item_that_exists(
    database: Database,
    given: list[dict[str, Any]],
    actions: tuple[Action, ...],
    where: Condition,
    values: dict[str, Any],
    number: int,
    returned: str,
    data: st.DataObject,
) -> None:
    lay_out(database, given)
    # ADD takes a number, too, but SET_ADD takes sets.
    actions = tuple(each for each in actions if not isinstance(each, Add) or each.value.placeholder != ":n")
    assume(actions)
    spelled = Spelled(values, data)
    changes, text = spelled.actions(actions), spelled.condition(where)
    statement = f"UPDATE said {changes} WHERE pk = 'p' AND sk = {number} AND ({text}) {RETURNING[returned]}"
    outcome = said(database, statement, spelled.parameters)
    expected = asked(
        database,
        "UpdateItem",
        values,
        Key={"pk": {"S": "p"}, "sk": {"N": str(number)}},
        UpdateExpression=spell_update(actions),
        ConditionExpression=f"attribute_exists(pk) AND ({spell_condition(where)})",
        ReturnValues=returned,
    )
    # Of several errors, each reports one.
    assert outcome[0] == expected[0]
    if outcome[0] == "answer":
        assert outcome == expected
    same_rows(database)


@given(stored, wheres, bound, st.integers(0, 3), st.booleans(), st.data())
def test_a_delete_is_a_deletion_of_an_item_that_meets_the_condition(
    database: Database,
    given: list[dict[str, Any]],
    where: Condition,
    values: dict[str, Any],
    number: int,
    returns: bool,
    data: st.DataObject,
) -> None:
    lay_out(database, given)
    spelled = Spelled(values, data)
    rest = "RETURNING ALL OLD *" if returns else ""
    text = f"({spelled.condition(where)}) AND pk = 'p' AND sk = {number} {rest}"
    outcome = said(database, f"DELETE FROM said WHERE {text}", spelled.parameters)
    expected = asked(
        database,
        "DeleteItem",
        values,
        Key={"pk": {"S": "p"}, "sk": {"N": str(number)}},
        ConditionExpression=f"attribute_not_exists(pk) OR ({spell_condition(where)})",
        ReturnValues="ALL_OLD" if returns else "NONE",
    )
    assert outcome == expected
    same_rows(database)

"""ExecuteStatement: a PartiQL statement as the operation that it is."""

from __future__ import annotations

from typing import Any

import pytest

from sortkey.engine import requests
from sortkey.engine.database import Database
from tests.engine.conftest import Call, ExpectError
from tests.engine.samples import create, index, n, s

KEY = {"id": s("a"), "seq": n(1)}
DOCUMENT = {"m": {"M": {"x": n(1), "y": n(2)}}, "l": {"L": [s("p"), {"M": {"q": n(3)}}]}}
OLD = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
NAMES = {"SS": ["p", "q"]}


@pytest.fixture(autouse=True)
def tables(call: Call) -> None:
    create(call, "shop", "id:S", "seq:N", indexes=[index("by_city", "city:S", "seq:N")])
    for identity in ("a", "b"):
        for seq in range(4):
            item = {"id": s(identity), "seq": n(seq), "v": n(seq * 10), "city": s("Rome")}
            call("PutItem", TableName="shop", Item=item)


@pytest.fixture
def run(call: Call) -> Any:
    """`run(statement, *parameters, Limit=…)` returns the items."""

    def run(statement: str, *parameters: dict[str, Any], **members: Any) -> list[dict[str, Any]]:
        given = {"Parameters": list(parameters)} if parameters else {}
        items: list[dict[str, Any]] = call("ExecuteStatement", Statement=statement, **given, **members)["Items"]
        return items

    return run


# SELECT


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("id = 'a' AND seq = 1", ["a1"]),
        ("id = 'a' AND seq = 9", []),
        ("id = 'a' AND seq = 1 AND v = 10", ["a1"]),
        ("id = 'a' AND seq = 1 AND v = 11", []),
        ("id = 'a'", ["a0", "a1", "a2", "a3"]),
        ("id = 'a' AND seq >= 1 AND seq < 3", ["a1", "a2"]),
        ("id = 'a' AND 2 < seq", ["a3"]),
        ("seq BETWEEN 1 AND 2 AND id = 'a'", ["a1", "a2"]),
        ("id = 'a' AND seq <> 1", ["a0", "a2", "a3"]),
        ("id IN ['b', 'a'] AND seq = 0", ["b0", "a0"]),
        ("id IN ['a', 'a', 'c'] AND seq = 0", ["a0"]),
        ("(id = 'b' OR id = 'a') AND seq = 0", ["b0", "a0"]),
        ("id = 'a' AND id = 'b'", []),
        ("id = 'a' AND seq IN [0, 3]", ["a0", "a3"]),
    ],
)
def test_keys_answer_it(run: Any, where: str, found: list[str]) -> None:
    items = run(f"SELECT id, seq FROM shop WHERE {where}")
    assert [item["id"]["S"] + item["seq"]["N"] for item in items] == found


@pytest.mark.parametrize(
    ("where", "count"),
    [
        ("id <> 'a'", 4),
        ("id = 'a' OR v = 0", 5),
        ("NOT id = 'a' AND v IN [0, 10]", 2),
        ("v > 10", 4),
        ("city IS MISSING", 0),
        ("nothing2 IS MISSING AND contains(city, 'om') AND size(city) = 4 AND attribute_type(v, 'N')", 8),
    ],
)
def test_anything_else_is_a_scan(run: Any, where: str, count: int) -> None:
    assert len(run(f"SELECT * FROM shop WHERE {where}")) == count
    assert len(run("SELECT * FROM shop")) == 8


def test_what_is_read_is_charged(call: Call) -> None:
    def units(where: str, **members: Any) -> float:
        answer = call(
            "ExecuteStatement", Statement=f"SELECT * FROM shop{where}", ReturnConsumedCapacity="TOTAL", **members
        )
        charged: float = answer["ConsumedCapacity"]["CapacityUnits"]
        return charged

    call("PutItem", TableName="shop", Item={"id": s("large"), "seq": n(1), "text": s("x" * 100_000)})
    assert units(" WHERE id = 'a' AND seq = 1") == 0.5
    assert units(" WHERE id = 'a' AND seq = 1", ConsistentRead=True) == 1.0
    assert units(" WHERE id IN ['a', 'b']") == 1.0
    assert units(" WHERE id = 'large' AND v = 1") > 10
    assert units(" WHERE v = 1") > 10


def test_capacity_by_index(call: Call) -> None:
    statement = "SELECT * FROM \"shop\".\"by_city\" WHERE city IN ['Rome', 'Bonn']"
    consumed = call("ExecuteStatement", Statement=statement, ReturnConsumedCapacity="INDEXES")["ConsumedCapacity"]
    assert consumed == {
        "TableName": "shop",
        "CapacityUnits": 1.0,
        "Table": {"CapacityUnits": 0.0},
        "GlobalSecondaryIndexes": {"by_city": {"CapacityUnits": 1.0}},
    }


def test_an_index(run: Any, expect_error: ExpectError) -> None:
    found = run('SELECT id, seq FROM "shop"."by_city" WHERE city = \'Rome\' AND seq > 1 ORDER BY seq DESC')
    assert [item["seq"] for item in found] == [n(3), n(3), n(2), n(2)]
    with expect_error("ValidationException", "The table does not have the specified index: nope"):
        run('SELECT * FROM "shop"."nope"')


def test_order(run: Any) -> None:
    def keys(rest: str) -> list[str]:
        return [
            item["id"]["S"] + item["seq"]["N"] for item in run(f"SELECT * FROM shop WHERE id IN ['b', 'a'] AND {rest}")
        ]

    assert keys("seq < 2 ORDER BY id") == ["a0", "a1", "b0", "b1"]
    assert keys("seq < 2 ORDER BY id DESC, seq") == ["b0", "b1", "a0", "a1"]
    assert keys("seq < 2 ORDER BY seq DESC") == ["b1", "b0", "a1", "a0"]


def test_selected_paths_become_attributes(call: Call, run: Any) -> None:
    call("PutItem", TableName="shop", Item=KEY | DOCUMENT)
    (item,) = run("SELECT m.y, l[1].q, l[0], m['x'], \"id\", none2 FROM shop WHERE id = 'a' AND seq = 1")
    assert item == {"y": n(2), "q": n(3), "l[0]": s("p"), "x": n(1), "id": s("a")}


def test_names_that_need_quotes(run: Any) -> None:
    run("INSERT INTO shop VALUE {'id': 'q', 'seq': 1, 'date': 5, '#n': 6, 'a b': {'c\"d': 7}}")
    where = 'id = \'q\' AND "date" = 5 AND "#n" = 6 AND "a b"."c""d" = 7'
    assert run(f'SELECT "date", "#n", "a b"."c""d" FROM shop WHERE {where}') == [
        {"date": n(5), "#n": n(6), 'c"d': n(7)}
    ]


# NextToken


def pages(call: Call, statement: str, limit: int) -> list[list[dict[str, Any]]]:
    found: list[list[dict[str, Any]]] = []
    answer = call("ExecuteStatement", Statement=statement, Limit=limit)
    found.append(answer["Items"])
    while "NextToken" in answer:
        answer = call("ExecuteStatement", Statement=statement, Limit=limit, NextToken=answer["NextToken"])
        found.append(answer["Items"])
    return found


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM shop",
        "SELECT * FROM shop WHERE v > 10",
        "SELECT * FROM shop WHERE id IN ['b', 'a', 'c']",
        "SELECT * FROM shop WHERE id IN ['b', 'a'] AND v > 10 ORDER BY seq DESC",
        'SELECT * FROM "shop"."by_city" WHERE city = \'Rome\' ORDER BY seq DESC',
    ],
)
@pytest.mark.parametrize("limit", [1, 3, 4, 8])
def test_pages_are_the_whole_in_parts(call: Call, run: Any, statement: str, limit: int) -> None:
    read = pages(call, statement, limit)
    assert [item for page in read for item in page] == run(statement)
    assert all(len(page) <= limit for page in read)


def test_a_page_of_a_megabyte_over_several_partitions(call: Call) -> None:
    for identity in "wxyz":
        for seq in range(2):
            item = {"id": s(identity), "seq": n(seq), "text": s("x" * 300_000)}
            call("PutItem", TableName="shop", Item=item)
    statement = "SELECT seq FROM shop WHERE id IN ['w', 'x', 'y', 'z']"
    first = call("ExecuteStatement", Statement=statement)
    assert len(first["Items"]) == 4
    second = call("ExecuteStatement", Statement=statement, NextToken=first["NextToken"])
    assert len(second["Items"]) == 4


def test_a_token_is_bound_to_its_statement(call: Call, expect_error: ExpectError) -> None:
    select = {"Statement": "SELECT * FROM shop WHERE id = ?", "Parameters": [s("a")]}
    token = call("ExecuteStatement", **select, Limit=1)["NextToken"]
    assert call("ExecuteStatement", **select, NextToken=token)["Items"]
    for invalid in (token[:-6] + "!" + token[-5:], "é", "none"):
        with expect_error("ValidationException", "Invalid NextToken"):
            call("ExecuteStatement", **select, NextToken=invalid)
    others: list[dict[str, Any]] = [
        {"Statement": "SELECT * FROM shop WHERE id = ?", "Parameters": [s("b")]},
        {"Statement": "SELECT * FROM shop"},
        {"Statement": "SELECT * FROM shop WHERE id = 'a' AND seq = 1"},
    ]
    for other in others:
        with expect_error("ValidationException", "NextToken does not match request"):
            call("ExecuteStatement", **other, NextToken=token)


# INSERT


def test_insert_of_every_type(call: Call, run: Any) -> None:
    members = (
        "'t': true, 'f': FALSE, 'z': NULL, 'n': -1.5E2, 'd': .5, 'p': 5., 's': 'it''s', 'e': '', 'l': [1, ['x'], []],"
        " 'm': {'k': {}}, 'ss': <<'b', 'a'>>, 'ns': <<2, 1.0>>, 'q': [?, <<?>>]"
    )
    assert run(f"INSERT INTO shop VALUE {{'id': 'i', 'seq': ?, {members}}}", n(1), {"B": "AAEC"}, s("x")) == []
    assert call("GetItem", TableName="shop", Key={"id": s("i"), "seq": n(1)})["Item"] == {
        "id": s("i"),
        "seq": n(1),
        "t": {"BOOL": True},
        "f": {"BOOL": False},
        "z": {"NULL": True},
        "n": n(-150),
        "d": n(0.5),
        "p": n(5),
        "s": s("it's"),
        "e": s(""),
        "l": {"L": [n(1), {"L": [s("x")]}, {"L": []}]},
        "m": {"M": {"k": {"M": {}}}},
        "ss": {"SS": ["a", "b"]},
        "ns": {"NS": ["1", "2"]},
        "q": {"L": [{"B": "AAEC"}, {"SS": ["x"]}]},
    }


def test_insert_never_replaces(call: Call, run: Any, expect_error: ExpectError) -> None:
    with expect_error("DuplicateItemException", "Duplicate primary key exists in table"):
        run("INSERT INTO shop VALUE {'id': 'a', 'seq': 1}")
    assert call("GetItem", TableName="shop", Key=KEY)["Item"]["v"] == n(10)


# UPDATE


@pytest.mark.parametrize(
    ("change", "after"),
    [
        ("SET v = v + 5 - 1", {"v": n(14)}),
        ("SET v = 5 - v SET w = v", {"v": n(-5), "w": n(10)}),
        ("SET w = if_not_exists(w, v), u = list_append([1], [2])", {"v": n(10), "w": n(10), "u": {"L": [n(1), n(2)]}}),
        ("SET names2 = set_add(names2, <<'x'>>)", {"v": n(10), "names2": {"SS": ["x"]}}),
        ("REMOVE v REMOVE nothere SET u = NULL", {"u": {"NULL": True}}),
    ],
)
def test_updates(call: Call, run: Any, change: str, after: dict[str, Any]) -> None:
    run(f"UPDATE shop {change} WHERE id = 'a' AND seq = 1")
    item = call("GetItem", TableName="shop", Key=KEY)["Item"]
    item.pop("city", None)
    assert item == KEY | after


def test_sets_and_documents(call: Call, run: Any) -> None:
    call("PutItem", TableName="shop", Item=KEY | DOCUMENT | {"t": NAMES})
    where = "WHERE id = 'a' AND seq = 1"
    run(f"UPDATE shop SET t = set_add(t, <<'z'>>), m.x = 9, l[1].q = 8, l[7] = 'end' REMOVE m.y {where}")
    run(f"UPDATE shop SET t = set_delete(t, <<'p', 'q'>>) {where}")
    assert call("GetItem", TableName="shop", Key=KEY)["Item"] == KEY | {
        "m": {"M": {"x": n(9)}},
        "l": {"L": [s("p"), {"M": {"q": n(8)}}, s("end")]},
        "t": {"SS": ["z"]},
    }


@pytest.mark.parametrize(
    ("returning", "items"),
    [
        ("", []),
        ("RETURNING ALL OLD *", [{"id": s("a"), "seq": n(1), "v": n(10), "city": s("Rome")}]),
        ("RETURNING MODIFIED OLD *", [{"v": n(10)}]),
        ("RETURNING ALL NEW *", [{"id": s("a"), "seq": n(1), "v": n(5), "city": s("Rome"), "w": n(1)}]),
        ("returning modified new *", [{"v": n(5), "w": n(1)}]),
    ],
)
def test_returning(run: Any, returning: str, items: list[Any]) -> None:
    assert run(f"UPDATE shop SET v = 5, w = 1 WHERE id = 'a' AND seq = 1 {returning}") == items


def test_an_update_needs_the_item_and_its_condition(run: Any, expect_error: ExpectError) -> None:
    for where in ("id = 'none' AND seq = 1", "id = 'a' AND seq = 1 AND v > 10"):
        with expect_error("ConditionalCheckFailedException", "The conditional request failed"):
            run(f"UPDATE shop SET v = 1 WHERE {where}")
    with expect_error("ConditionalCheckFailedException") as caught:
        run(
            "UPDATE shop SET v = 1 WHERE id = 'a' AND seq = 1 AND v > 10", ReturnValuesOnConditionCheckFailure="ALL_OLD"
        )
    assert caught.value.members["Item"].text.startswith(b'{"id":{"S":"a"}')
    assert run("UPDATE shop SET v = 1 WHERE id = 'a' AND seq = 1 AND v = 10 RETURNING MODIFIED NEW *") == [{"v": n(1)}]


# DELETE


def test_delete(run: Any) -> None:
    old = {"id": s("a"), "seq": n(1), "v": n(10), "city": s("Rome")}
    delete = "DELETE FROM shop WHERE id = 'a' AND seq = 1 AND v = 10 RETURNING ALL OLD *"
    assert run(delete) == [old]
    assert run(delete) == []


# AWS: no such item is a success; an item that does not meet the condition is not.
def test_delete_of_no_item_succeeds(run: Any, expect_error: ExpectError) -> None:
    assert run("DELETE FROM shop WHERE id = 'none' AND seq = 1 AND v = 10") == []
    with expect_error("ConditionalCheckFailedException"):
        run("DELETE FROM shop WHERE id = 'a' AND seq = 1 AND v = 11")


# errors


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("EXISTS(SELECT * FROM shop WHERE id = 'a')", "EXISTS can only be used in ExecuteTransaction write requests."),
        ("SELECT * FROM shop WHERE id = ?", "Number of parameters in request and statement don't match."),
        (
            "SELECT * FROM shop WHERE id = 1",
            "Key attribute's data type should match its data type in table's schema: Key id",
        ),
        (
            "SELECT * FROM shop WHERE id > 1",
            "One or more parameter values were invalid: Condition parameter type does not match schema type",
        ),
        (
            "SELECT * FROM shop WHERE id = 'a' ORDER BY v",
            "Variable reference v in ORDER BY clause must be part of the primary key",
        ),
        (
            "SELECT * FROM shop WHERE v = 1 ORDER BY seq",
            "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause.",
        ),
        ("INSERT INTO shop VALUE {'id': 'a'}", "Key attribute should be present in the item: Key seq"),
        (
            "INSERT INTO shop VALUE {'id': 1, 'seq': 1}",
            "Key attribute's data type should match its data type in table's schema: Key id",
        ),
        (
            "INSERT INTO shop VALUE {'id': 'x', 'seq': 1, 's': <<1, 'a'>>}",
            "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags",
        ),
        (
            "UPDATE shop SET v = 1 WHERE id = 'a'",
            "Where clause does not contain a mandatory equality on all key attributes",
        ),
        (
            "DELETE FROM shop WHERE id = 'a' AND seq > 1",
            "Where clause does not contain a mandatory equality on all key attributes",
        ),
        (
            "DELETE FROM shop WHERE id = 'a' AND id = 'b' AND seq = 1",
            "Multiple conditions on same key id. Only single item Update/Insert/Delete are supported",
        ),
        (
            "UPDATE shop SET seq = 1 WHERE id = 'a' AND seq = 1",
            "One or more parameter values were invalid: Cannot update attribute seq. This attribute is part of the key",
        ),
        (
            "UPDATE shop SET v = set_add(v, 1) WHERE id = 'a' AND seq = 1",
            "The second argument to SET_ADD must be a value with type SET",
        ),
        (
            "DELETE FROM shop WHERE v > true",
            "Incorrect operand type for operator or function; operator or function: >, operand type: BOOL",
        ),
        (
            "UPDATE shop SET v = city + 1 WHERE id = 'a' AND seq = 1",
            "An operand in the update expression has an incorrect data type",
        ),
    ],
)
def test_rejected(run: Any, expect_error: ExpectError, statement: str, message: str) -> None:
    with expect_error("ValidationException", message):
        run(statement)


def test_no_such_table(run: Any, expect_error: ExpectError) -> None:
    for statement in (
        "SELECT * FROM nothere",
        "INSERT INTO nothere VALUE {'id': 'a'}",
        "DELETE FROM nothere WHERE id = 'a'",
        "UPDATE nothere SET v = 1 WHERE id = 'a'",
    ):
        with expect_error("ResourceNotFoundException", "Requested resource not found"):
            run(statement)


@pytest.mark.parametrize("parameter", [{}, {"N": "x"}, {"S": "a", "N": "1"}, {"SS": []}, {"X": "a"}])
def test_an_invalid_parameter(run: Any, expect_error: ExpectError, parameter: dict[str, Any]) -> None:
    for statement in ("SELECT * FROM shop WHERE id = ?", "SELECT * FROM shop WHERE v = <<?>>"):
        with expect_error("ValidationException"):
            run(statement, parameter)


# The plan is made before the writer's turn; another table may have taken the name meanwhile.
def test_a_table_that_changes_between_plan_and_work(db: Database, call: Call, expect_error: ExpectError) -> None:
    statement = "UPDATE shop SET v = 1 WHERE id = 'a' AND seq = 1"
    work = db.plan("ExecuteStatement", requests.convert("ExecuteStatement", {"Statement": statement}))
    call("DeleteTable", TableName="shop")
    create(call, "shop", "other:S")
    with expect_error("ValidationException", "The provided key element does not match the schema"):
        db.store.write(work)


# AWS reads only the member that it knows; the token is bound to what was read.
def test_a_parameter_with_a_member_that_is_no_type(call: Call) -> None:
    parameter = {"S": "Rome", "S0": 1 << 100}
    statement = "SELECT * FROM shop.by_city WHERE city = ?"
    first = call("ExecuteStatement", Statement=statement, Parameters=[parameter], Limit=5)
    rest = call("ExecuteStatement", Statement=statement, Parameters=[s("Rome")], NextToken=first["NextToken"])
    assert (len(first["Items"]), len(rest["Items"])) == (5, 3)

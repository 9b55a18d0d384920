"""PartiQL: texts to statements, and the errors of texts that are none."""

from __future__ import annotations

from typing import Any

import pytest

from sortkey.errors import SerializationException, ValidationException
from sortkey.expressions.partiql_parser import DEEPEST, parse_statement
from sortkey.expressions.partiql_tree import (
    Delete,
    Exists,
    Insert,
    ListTemplate,
    MapTemplate,
    Order,
    Parameter,
    Scalar,
    Select,
    SetTemplate,
    Update,
    fill,
)
from sortkey.expressions.tree import (
    Add,
    Arithmetic,
    Between,
    Call,
    Comparison,
    Junction,
    Membership,
    Not,
    Path,
    Remove,
    Value,
)
from sortkey.expressions.tree import Delete as DeleteElements
from sortkey.expressions.tree import Set as Assign

A, B = Path(("a",)), Path(("b",))
ONE, TWO = Value(":0"), Value(":1")


def where(text: str) -> Any:
    body = parse_statement(f"SELECT * FROM shop WHERE {text}").body
    assert isinstance(body, Select)
    return body.where


def test_a_select() -> None:
    statement = parse_statement(
        'select a, b.c[1]."D" , e[\'f g\'] FROM "shop"."by_a" WHERE a = 1 order by a DESC, b asc;'
    )
    assert (statement.table, statement.writes) == ("shop", False)
    assert statement.body == Select(
        "by_a",
        (A, Path(("b", "c", 1, "D")), Path(("e", "f g"))),
        Comparison("=", A, ONE),
        (Order("a", False), Order("b", True)),
    )
    assert statement.values == {":0": Scalar({"N": "1"})}


def test_where_the_table_is() -> None:
    for text in ('SELECT * FROM "shop"', "INSERT INTO shop VALUE {'a': 1}", "UPDATE shop REMOVE a", "DELETE FROM shop"):
        statement = parse_statement(text)
        start, end = statement.table_place
        assert text[start:end].strip('"') == statement.table == "shop"


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a = 1 AND b = 2 AND a < b", ("AND", 3)),
        ("a = 1 OR b = 2 OR NOT a < b", ("OR", 3)),
        ("a = 1 OR b = 2 AND a < b", ("OR", 2)),
        ("(a = 1 OR b = 2) AND a < b", ("AND", 2)),
    ],
)
def test_junctions(text: str, tree: tuple[str, int]) -> None:
    found = where(text)
    assert isinstance(found, Junction)
    assert (found.operator, len(found.conditions)) == tree


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a != 1", Comparison("<>", A, ONE)),
        ("1 >= a", Comparison(">=", ONE, A)),
        ("a BETWEEN 1 AND 2", Between(A, ONE, TWO)),
        ("a NOT BETWEEN 1 AND 2", Not(Between(A, ONE, TWO))),
        ("a IN [1, ?]", Membership(A, (ONE, TWO))),
        ("a in (1, 2)", Membership(A, (ONE, TWO))),
        ("a NOT IN <<1, 2>>", Not(Membership(A, (ONE, TWO)))),
        ("a IS MISSING", Call("attribute_not_exists", (A,))),
        ("a IS NOT MISSING", Call("attribute_exists", (A,))),
        ("a IS NULL", Call("attribute_type", (A, ONE))),
        ("a IS NOT NULL", Not(Call("attribute_type", (A, ONE)))),
        ("NOT a = b", Not(Comparison("=", A, B))),
        ("Begins_With(a, 'x')", Call("begins_with", (A, ONE))),
        ("size(a) > ?", Comparison(">", Call("size", (A,)), ONE)),
        ('a."#x" = 1', Comparison("=", Path(("a", "#0")), ONE)),
    ],
)
def test_conditions(text: str, tree: Any) -> None:
    assert where(text) == tree


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'it''s'", {"S": "it's"}),
        ("''", {"S": ""}),
        ("-1.50e3", {"N": "-1.50e3"}),
        ("+.5", {"N": "0.5"}),
        ("5.", {"N": "5"}),
        ("5.E2", {"N": "5E2"}),
        ("true", {"BOOL": True}),
        ("False", {"BOOL": False}),
        ("null", {"NULL": True}),
        ("[1, 'a', []]", {"L": [{"N": "1"}, {"S": "a"}, {"L": []}]}),
        ("{'k': {'#': ?}}", {"M": {"k": {"M": {"#": {"B": "AA=="}}}}}),
        ("<<'a', 'b'>>", {"SS": ["a", "b"]}),
        ("<<1, -2>>", {"NS": ["1", "-2"]}),
        ("?", {"B": "AA=="}),
        ("((1))", {"N": "1"}),
    ],
)
def test_literals(text: str, value: dict[str, Any]) -> None:
    (template,) = parse_statement(f"SELECT * FROM shop WHERE a = {text}").values.values()
    assert fill(template, [{"B": "AA=="}]) == value


def test_an_insert() -> None:
    statement = parse_statement("INSERT INTO shop VALUE {'a': ?, 'b': [?], 'c': <<1>>}")
    assert statement.writes
    assert statement.body == Insert(
        MapTemplate({"a": Parameter(0), "b": ListTemplate((Parameter(1),)), "c": SetTemplate((Scalar({"N": "1"}),))})
    )


def test_an_update() -> None:
    body = parse_statement(
        "UPDATE shop SET a = a + 1 - b, b = list_append(b, ?) SET c = set_add(c, <<1>>) REMOVE d[0] "
        "SET c.d = SET_DELETE(c.d, ?) WHERE a = 1 RETURNING MODIFIED OLD *"
    ).body
    c, d = Path(("c",)), Path(("c", "d"))
    assert isinstance(body, Update)
    assert body.returning == "UPDATED_OLD"
    assert body.actions == (
        Assign(A, Arithmetic("-", Arithmetic("+", A, ONE), B)),
        Assign(B, Call("list_append", (B, TWO))),
        Add(c, Value(":2")),
        Remove(Path(("d", 0))),
        DeleteElements(d, Value(":3")),
    )


def test_a_delete_and_a_check() -> None:
    assert parse_statement("DELETE FROM shop").body == Delete(None, None)
    body = parse_statement("delete from shop where a = 1 returning all old *").body
    assert body == Delete(Comparison("=", A, ONE), "ALL_OLD")
    exists = parse_statement("EXISTS (SELECT * FROM shop WHERE a = 1)")
    assert exists.body == Exists(Select(None, None, Comparison("=", A, ONE)))
    assert exists.writes


def test_comments_and_lines() -> None:
    statement = parse_statement("SELECT -- all\n  * /* of\n it */ FROM shop -- end")
    assert statement.body == Select(None, None, None)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("SELECT", "Unexpected end of statement"),
        ("SELECT * FROM shop WHERE a = 1 b", "Unexpected token b at 1:32:1"),
        ("SELECT *\nFROM shop WHERE date = 1", "Unexpected token date at 2:17:4"),
        ("SELECT * FROM shop WHERE a = 'x", "Unexpected token ' at 1:30:1"),
        ("SELECT * FROM shop WHERE a = 0x1", "Unexpected token 0 at 1:30:1"),
        ("SELECT * FROM shop; SELECT * FROM shop", "Unexpected token SELECT at 1:21:6"),
        ("UPDATE shop WHERE a = 1", "Unexpected token WHERE at 1:13:5"),
        ("UPDATE shop SET a = 1 WHERE b = 1 RETURNING", "Unexpected end of statement"),
        ("UPDATE shop SET a = 1 RETURNING ALL", "Unexpected token ALL at 1:33:3"),
        ("DELETE shop", "Unexpected token shop at 1:8:4"),
        ("INSERT INTO shop VALUE {'a'", "Unexpected end of statement"),
        ("INSERT INTO shop VALUE {1: 2}", "Unexpected token 1 at 1:25:1"),
    ],
)
def test_not_well_formed(text: str, why: str) -> None:
    with pytest.raises(ValidationException) as caught:
        parse_statement(text)
    assert caught.value.message == f"Statement wasn't well formed, can't be processed: {why}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT a[99999999999999999999] FROM shop", "List index is not within the allowable range"),
        (f"SELECT a[{'9' * 5000}] FROM shop", "List index is not within the allowable range"),
        ('SELECT "" FROM shop', "Path component cannot be an empty string"),
        ("SELECT * FROM shop WHERE begins_with(a, 'x') = true", "The function is not allowed to be used this way"),
        ("SELECT * FROM shop WHERE size(a)", "WHERE clause must contain an expression that resolves to a boolean"),
        ("SELECT * FROM shop WHERE a AND b = 1", "WHERE clause must contain an expression that resolves"),
        ("SELECT * FROM shop WHERE (a = 1) = (b = 1)", "The operands of an expression must not be conditions"),
        ("SELECT * FROM shop WHERE a IN [b]", "Unsupported data type: VariableReference"),
        ("SELECT * FROM shop WHERE a IN (b, 1)", "Unsupported data type: VariableReference"),
        ("UPDATE shop SET a = contains(a, 'x')", "The function is not allowed in an update expression"),
        ("UPDATE shop SET a = set_add(a, b)", "The second argument to SET_ADD must be a value with type SET"),
        ("SELECT * FROM shop WHERE a = <<true, 1>>", "numbers or strings in bags at 1:32:4"),
        ("SELECT * FROM shop WHERE a = <<1, true>>", "numbers or strings in bags"),
        ("UPDATE shop SET a = set_add(a)", "Incorrect number of operands for operator or function"),
        ("UPDATE shop SET a = list_append(set_add(a, <<1>>), b)", "The function is not allowed to be used this way"),
    ],
)
def test_rejected(text: str, message: str) -> None:
    with pytest.raises(ValidationException) as caught:
        parse_statement(text)
    assert message in caught.value.message


def test_no_unicode() -> None:
    with pytest.raises(SerializationException, match="surrogate"):
        parse_statement("SELECT * FROM shop WHERE a = '\ud800'")


@pytest.mark.parametrize(
    ("opening", "middle", "closing"),
    [("(", "a = 1", ")"), ("NOT ", "a = 1", ""), ("size(", "a", ")"), ("[", "1", "]"), ("{'a': ", "1", "}")],
)
def test_depth_is_bounded(opening: str, middle: str, closing: str) -> None:
    left = "" if opening in ("(", "NOT ") else "a = "
    for depth in (DEEPEST + 1, 8192 // len(opening) // 2):
        with pytest.raises(ValidationException, match="too many operators"):
            parse_statement(f"SELECT * FROM shop WHERE {left}{opening * depth}{middle}{closing * depth}")


def test_a_text_is_parsed_once() -> None:
    text = "SELECT * FROM shop WHERE parsed = 'once'"
    assert parse_statement(text) is parse_statement(text)

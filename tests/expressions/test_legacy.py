"""Legacy parameters have the same meaning as expressions, but messages of their own."""

from __future__ import annotations

from typing import Any

import pytest

from sortkey.errors import SerializationException
from sortkey.expressions import KeyAttribute, KeyRange, legacy
from sortkey.values.size import item_size
from tests.expressions.rejected import rejected

ITEM: dict[str, Any] = {
    "s": {"S": "abc"},
    "n": {"N": "5"},
    "ss": {"SS": ["a", "b"]},
    "l": {"L": [{"S": "a"}]},
    "s.a": {"S": "dotted"},
}
ABC: dict[str, Any] = {"S": "abc"}
FIVE: dict[str, Any] = {"N": "5"}
INVALID = "One or more parameter values were invalid: "


def compare(operator: str, *arguments: dict[str, Any]) -> dict[str, Any]:
    return {"ComparisonOperator": operator, "AttributeValueList": list(arguments)}


def expects(given: dict[str, Any], name: str = "s") -> bool:
    return legacy.expected({name: given}, None)(ITEM)


@pytest.mark.parametrize(
    ("name", "given", "answer"),
    [
        ("s", {"Value": ABC}, True),
        ("s", {"Exists": True, "Value": FIVE}, False),
        ("gone", {"Exists": False}, True),
        ("s", {"Exists": False}, False),
        ("s", {"Value": ABC, "ComparisonOperator": "GE"}, True),
        ("s", compare("EQ", ABC), True),
        ("s", compare("NE", ABC), False),
        ("gone", compare("NE", ABC), True),
        ("n", compare("LT", {"N": "5.5"}), True),
        ("n", compare("BETWEEN", FIVE, FIVE), True),
        ("n", compare("IN", {"N": "4"}, FIVE), True),
        ("s", compare("NULL"), False),
        ("s", compare("NOT_NULL"), True),
        ("s", compare("BEGINS_WITH", {"S": "a"}), True),
        ("ss", compare("CONTAINS", {"S": "a"}), True),
        ("ss", compare("NOT_CONTAINS", {"S": "a"}), False),
        ("n", compare("NOT_CONTAINS", FIVE), True),
        # NOT_CONTAINS is false for a missing attribute.
        ("gone", compare("NOT_CONTAINS", FIVE), False),
        # Names are names here, never paths.
        ("s.a", compare("EQ", {"S": "dotted"}), True),
    ],
)
def test_expected(name: str, given: dict[str, Any], answer: bool) -> None:
    assert expects(given, name) is answer


def test_conditional_operator() -> None:
    conditions = {"s": compare("EQ", ABC), "n": compare("EQ", ABC)}
    assert not legacy.filters(conditions, None)(ITEM)
    assert not legacy.filters(conditions, "AND")(ITEM)
    assert legacy.filters(conditions, "OR")(ITEM)
    assert legacy.filters(conditions, "OR").attributes == {"s", "n"}
    with rejected("ConditionalOperator can only be used when Filter or Expected has two or more elements"):
        legacy.filters({"s": compare("EQ", ABC)}, "OR")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, INVALID + "Value must be provided when Exists is null for Attribute: s"),
        ({"Exists": True}, INVALID + "Value must be provided when Exists is true for Attribute: s"),
        ({"Exists": False, "Value": ABC}, INVALID + "Value cannot be used when Exists is false for Attribute: s"),
        (
            {"Exists": False, **compare("NULL")},
            INVALID + "Exists and ComparisonOperator cannot be used together for Attribute: s",
        ),
        (
            {"Value": ABC, "AttributeValueList": [ABC]},
            INVALID + "Value and AttributeValueList cannot be used together for Attribute: s",
        ),
        (
            {"AttributeValueList": [ABC]},
            INVALID + "AttributeValueList can only be used with a ComparisonOperator for Attribute: s",
        ),
        (
            {"ComparisonOperator": "EQ"},
            INVALID + "Value or AttributeValueList must be used with ComparisonOperator: EQ for Attribute: s",
        ),
        (compare("EQ"), INVALID + "Invalid number of argument(s) for the EQ ComparisonOperator"),
        (compare("NULL", ABC), INVALID + "Invalid number of argument(s) for the NULL ComparisonOperator"),
        (compare("IN"), INVALID + "Invalid number of argument(s) for the IN ComparisonOperator"),
        (compare("LT", {"SS": ["a"]}), INVALID + "ComparisonOperator LT is not valid for SS AttributeValue type"),
        (
            compare("CONTAINS", {"L": []}),
            INVALID + "ComparisonOperator CONTAINS is not valid for L AttributeValue type",
        ),
        (compare("IN", ABC, FIVE), INVALID + "AttributeValues inside AttributeValueList must be of same type"),
        (
            compare("BETWEEN", {"N": "9"}, FIVE),
            "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound",
        ),
        (compare("eq", ABC), "Comparison type does not exist in DynamoDB"),
    ],
)
def test_expected_rejects(given: dict[str, Any], message: str) -> None:
    with rejected(message):
        expects(given)


def test_names_must_not_be_empty() -> None:
    with rejected("Empty attribute name"):
        expects(compare("EQ", ABC), name="")


def test_names_must_not_be_too_long() -> None:
    with rejected("Attribute name is too large, must be less than 65536 bytes"):
        expects(compare("EQ", ABC), name="é" * 32_768)


def test_names_must_be_unicode() -> None:
    with pytest.raises(SerializationException):
        expects(compare("EQ", ABC), name="\ud800")


PK, SK = KeyAttribute("pk", "S"), KeyAttribute("sk", "S")


# Each condition is an operator, and so is each AND between two.
@pytest.mark.parametrize("parse", [legacy.expected, legacy.filters])
def test_too_many_conditions(parse: Any) -> None:
    parse({f"a{number}": compare("NOT_NULL") for number in range(150)}, None)
    with rejected("The expression contains too many operators; operator count: 301"):
        parse({f"a{number}": compare("NOT_NULL") for number in range(151)}, None)


def test_key_conditions() -> None:
    made = legacy.key_conditions({"sk": compare("BEGINS_WITH", {"S": "a"}), "pk": compare("EQ", ABC)})
    assert made.resolve((PK,), (SK,)) == KeyRange({"pk": ABC}, (), SK, "begins_with", ({"S": "a"},))
    whole = legacy.key_conditions({"pk": compare("EQ", ABC)}).resolve((PK,), (SK,))
    assert whole == KeyRange({"pk": ABC}, (), None, None, ())


# AWS's documentation of KeyConditions mentions one sort key attribute; the service accepts several.
def test_key_conditions_on_multi_attribute_keys() -> None:
    other = KeyAttribute("tk", "S")
    conditions = {"pk": compare("EQ", ABC), "tk": compare("LT", ABC), "sk": compare("EQ", ABC)}
    made = legacy.key_conditions(conditions).resolve((PK,), (SK, other))
    assert made == KeyRange({"pk": ABC, "sk": ABC}, (SK,), other, "<", (ABC,))


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ({}, "Conditions can be of length 1 or 2 only"),
        ({"sk": compare("EQ", ABC)}, "Query condition missed key schema element: pk"),
        ({"pk": compare("GT", ABC)}, "Query key condition not supported"),
        (
            {"pk": compare("EQ", ABC), "sk": compare("CONTAINS", ABC)},
            "Attempted conditional constraint is not an indexable operation",
        ),
        (
            {"pk": compare("EQ", FIVE)},
            INVALID + "Condition parameter type does not match schema type",
        ),
    ],
)
def test_key_conditions_reject(conditions: dict[str, Any], message: str) -> None:
    with rejected(message):
        legacy.key_conditions(conditions).resolve((PK,), (SK,))


# A negated equality is not a range of keys.
def test_not_equal_is_not_indexable() -> None:
    with rejected("Attempted conditional constraint is not an indexable operation"):
        legacy.key_conditions({"pk": compare("EQ", ABC), "sk": compare("NE", ABC)}).resolve((PK,), (SK,))


def test_attributes_to_get() -> None:
    assert legacy.attributes_to_get(["s.a", "gone"])(ITEM) == {"s.a": {"S": "dotted"}}
    with rejected("AttributesToGet cannot be empty"):
        legacy.attributes_to_get([])
    with rejected("One or more parameter values were invalid: Duplicate value in attribute name: s"):
        legacy.attributes_to_get(["s", "s"])


@pytest.mark.parametrize(
    ("name", "given", "after"),
    [
        ("a", {"Value": ABC}, ABC),
        ("s", {"Action": "PUT", "Value": FIVE}, FIVE),
        ("s", {"Action": "DELETE"}, None),
        ("gone", {"Action": "DELETE"}, None),
        ("ss", {"Action": "DELETE", "Value": {"SS": ["a"]}}, {"SS": ["b"]}),
        ("ss", {"Action": "DELETE", "Value": {"SS": ["a", "b"]}}, None),
        ("n", {"Action": "ADD", "Value": {"N": "2"}}, {"N": "7"}),
        ("ss", {"Action": "ADD", "Value": {"SS": ["c"]}}, {"SS": ["a", "b", "c"]}),
        # Unlike an update expression's, this ADD extends lists.
        ("l", {"Action": "ADD", "Value": {"L": [FIVE]}}, {"L": [{"S": "a"}, FIVE]}),
        ("gone", {"Action": "ADD", "Value": {"L": [FIVE]}}, {"L": [FIVE]}),
    ],
)
def test_attribute_updates(name: str, given: dict[str, Any], after: dict[str, Any] | None) -> None:
    made = legacy.attribute_updates({name: given})
    assert made.attributes == {name}
    assert made.apply(ITEM, item_size(ITEM)).get(name) == after


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("a", {"Action": "PUT"}, INVALID + "Only DELETE action is allowed when no attribute value is specified"),
        ("s", {"Action": "ADD", "Value": ABC}, INVALID + "ADD action is not supported for the type STRING"),
        (
            "n",
            {"Action": "DELETE", "Value": FIVE},
            INVALID + "DELETE action with value is not supported for the type NUMBER",
        ),
        ("s", {"Action": "ADD", "Value": FIVE}, "Type mismatch for attribute to update"),
        ("s", {"Action": "DELETE", "Value": {"SS": ["a"]}}, "Type mismatch for attribute to update"),
    ],
)
def test_attribute_updates_reject(name: str, given: dict[str, Any], message: str) -> None:
    with rejected(message):
        legacy.attribute_updates({name: given}).apply(ITEM, item_size(ITEM))

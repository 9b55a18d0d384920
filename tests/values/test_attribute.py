"""Attribute values: which are valid, how others are rejected, and the canonical form."""

from __future__ import annotations

from binascii import b2a_base64
from collections import OrderedDict
from copy import deepcopy
from enum import StrEnum
from typing import Any

import pytest

from sortkey.errors import SerializationException, ValidationException
from sortkey.values.attribute import compare, equal, holds_binary, normalise_item, normalise_value, type_of

INVALID = "One or more parameter values were invalid: "
EMPTY = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
SEVERAL = "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
TOO_DEEP = (
    "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
)


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {"S": "x"}
    for level in range(levels):
        value = {"L": [value]} if level % 2 else {"M": {"a": value}}
    return value


# The hot path of every write copies nothing without need.
def test_canonical_item_is_returned_itself() -> None:
    item: dict[str, Any] = {
        "s": {"S": "x"},
        "n": {"N": "1.5"},
        "b": {"B": "YQ=="},
        "l": {"L": [{"M": {"a": {"NULL": True}}}, {"BOOL": False}]},
        "ss": {"SS": ["a", "b"]},
        "ns": {"NS": ["2", "10"]},
        "bs": {"BS": ["YQ==", "Yg=="]},
    }
    assert normalise_item(item).item is item


class Colour(StrEnum):
    RED = "red"


# In-process callers can pass any Python object, a request over the wire only JSON.
def test_subclasses_of_the_json_types_are_taken() -> None:
    item: dict[str, Any] = {
        "a": {"S": Colour.RED},
        "b": {"SS": [Colour.RED]},
        "c": {"M": OrderedDict(x={"S": Colour.RED})},
    }
    assert normalise_item(item).item == {"a": {"S": "red"}, "b": {"SS": ["red"]}, "c": {"M": {"x": {"S": "red"}}}}


# The caller keeps its request, to retry it or to fingerprint it.
def test_input_is_never_changed() -> None:
    item: dict[str, Any] = {
        "n": {"N": "1.0"},
        "m": {"M": {"l": {"L": [{"NS": ["2", "1.0"]}, {"B": "YR=="}]}}},
        "x": {"S": "x", "N": None},
    }
    before = deepcopy(item)
    assert normalise_item(item).item == {
        "n": {"N": "1"},
        "m": {"M": {"l": {"L": [{"NS": ["1", "2"]}, {"B": "YQ=="}]}}},
        "x": {"S": "x"},
    }
    assert item == before


@pytest.mark.parametrize(
    ("value", "canonical"),
    [
        ({"S": ""}, {"S": ""}),
        ({"B": ""}, {"B": ""}),
        ({"SS": [""]}, {"SS": [""]}),
        ({"N": "1e2"}, {"N": "100"}),
        ({"B": "YR=="}, {"B": "YQ=="}),
        ({"L": []}, {"L": []}),
        ({"M": {}}, {"M": {}}),
        ({"SS": ["c", "a", "b"]}, {"SS": ["a", "b", "c"]}),
        ({"NS": ["10", "-1", "2.0"]}, {"NS": ["-1", "2", "10"]}),
        # By their bytes, not by their base64: "_" is after "a", but its base64 is before.
        ({"BS": ["YQ==", "Xw=="]}, {"BS": ["Xw==", "YQ=="]}),
        # SDKs that write every member leave the others null; members of no known type are ignored.
        ({"S": None, "N": "1"}, {"N": "1"}),
        ({"X": "a", "S": "b"}, {"S": "b"}),
    ],
)
def test_canonical_form(value: dict[str, Any], canonical: dict[str, Any]) -> None:
    assert normalise_value(value) == canonical


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, EMPTY),
        ({"S": None}, EMPTY),
        ({"X": "a"}, EMPTY),
        ({"s": "a"}, EMPTY),
        ({"X": "a", "Y": "b"}, EMPTY),
        ({"L": [{}]}, EMPTY),
        ({"M": {"a": {}}}, EMPTY),
        ({"S": "a", "N": "1"}, SEVERAL),
        ({"S": "a", "BOOL": False}, SEVERAL),
        ({"S": "a", "M": {}}, SEVERAL),
        (None, "The supplied Item contains a null AttributeValue"),
        ({"L": [None]}, "The supplied Item contains a null AttributeValue"),
        ({"M": {"a": None}}, "The supplied Item contains a null AttributeValue: a is null"),
        ({"NULL": False}, INVALID + "Null attribute value types must have the value of true"),
        ({"SS": []}, INVALID + "An string set  may not be empty"),
        ({"NS": []}, INVALID + "An number set  may not be empty"),
        ({"BS": []}, INVALID + "Binary sets should not be empty"),
        ({"SS": ["b", "a", "b"]}, INVALID + "Input collection [b, a, b] contains duplicates."),
        ({"NS": ["1", "1.0"]}, "Input collection contains duplicates"),
        ({"BS": ["YQ==", "YQ=="]}, INVALID + "Input collection [YQ==, YQ==]of type BS contains duplicates."),
        ({"BS": ["YQ==", "YR=="]}, INVALID + "Input collection [YQ==, YR==]of type BS contains duplicates."),
        ({"SS": ["a", None]}, INVALID + "An string set may not have a null string as a member"),
        ({"SS": ["a", None, "a"]}, INVALID + "Input collection [a, null, a] contains duplicates."),
        ({"NS": ["1", "1", "x"]}, "Input collection contains duplicates"),
        ({"NS": [None]}, "The parameter cannot be converted to a numeric value"),
        ({"BS": [None]}, "The supplied Item contains a null AttributeValue"),
        ({"N": "abc"}, "The parameter cannot be converted to a numeric value: abc"),
        ({"NS": ["1", "x"]}, "The parameter cannot be converted to a numeric value: x"),
        ({"M": {"": {"S": "a"}}}, "Empty attribute name"),
        ({"M": {"n" * 65536: {"S": "a"}}}, "Attribute name is too large, must be less than 65536 bytes"),
        ({"M": {"é" * 32768: {"S": "a"}}}, "Attribute name is too large, must be less than 65536 bytes"),
        (nested(33), TOO_DEEP),
        ({"L": [nested(32)]}, TOO_DEEP),
    ],
)
def test_rejected_values(value: Any, message: str) -> None:
    with pytest.raises(ValidationException) as rejected:
        normalise_value(value)
    assert rejected.value.message == message


# Several members are each checked, in DynamoDB's order of types, before their number.
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"S": "a", "N": "x"}, "The parameter cannot be converted to a numeric value: x"),
        ({"N": "x", "SS": []}, INVALID + "An string set  may not be empty"),
        ({"NULL": False, "N": "x"}, "The parameter cannot be converted to a numeric value: x"),
        ({"S": "a", "L": [{}]}, EMPTY),
        ({"M": {"": {"S": "x"}}, "S": "a"}, "Empty attribute name"),
    ],
)
def test_what_is_wrong_in_one_of_several_members_comes_first(value: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationException) as rejected:
        normalise_value(value)
    assert rejected.value.message == message


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"": {"S": "a"}}, "Empty attribute name"),
        ({"a": None}, "The supplied Item contains a null AttributeValue: a is null"),
        ({"a": {}}, EMPTY),
        ({"a": nested(32)}, TOO_DEEP),
        ({"n" * 65536: {"S": "a"}}, "Attribute name is too large, must be less than 65536 bytes"),
    ],
)
def test_rejected_items(item: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationException) as rejected:
        normalise_item(item)
    assert rejected.value.message == message


def test_what_is_just_within_the_limits() -> None:
    item = {"n" * 65535: {"S": "a"}, "deep": nested(31), "beside": nested(31)}
    assert normalise_item(item).item is item


# JSON of the wrong type never becomes a value: DynamoDB's parser rejects it before any rule is applied.
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"S": 1}, "NUMBER_VALUE cannot be converted to String"),
        ({"S": 1.5}, "DECIMAL_VALUE cannot be converted to String"),
        ({"S": True}, "TRUE_VALUE cannot be converted to String"),
        ({"N": False}, "FALSE_VALUE cannot be converted to String"),
        ({"N": 1}, "NUMBER_VALUE cannot be converted to String"),
        ({"S": []}, "Unrecognized collection type class java.lang.String"),
        ({"N": {}}, "Start of structure or map found where not expected"),
        ({"SS": [1]}, "NUMBER_VALUE cannot be converted to String"),
        ({"NS": [1]}, "NUMBER_VALUE cannot be converted to String"),
        ({"SS": "a"}, "Unexpected field type"),
        ({"NS": {}}, "Start of structure or map found where not expected"),
        ({"B": 1}, "only base-64-encoded strings are convertible to bytes"),
        ({"BS": [True]}, "only base-64-encoded strings are convertible to bytes"),
        ({"B": "YQ"}, "Base64 encoded length is expected a multiple of 4 bytes but found: 2"),
        ({"B": "Y!=="}, "Invalid base64 text"),
        ({"B": "YQ==YQ=="}, "Invalid base64 text"),
        ({"B": "éééé"}, "Invalid base64 text"),
        ({"BOOL": "true"}, "Unexpected token received from parser"),
        ({"BOOL": 1}, "NUMBER_VALUE cannot be converted to Boolean"),
        ({"NULL": []}, "Unrecognized collection type class java.lang.Boolean"),
        ({"L": "x"}, "Unexpected field type"),
        ({"L": {}}, "Start of structure or map found where not expected"),
        ({"M": 1}, "Unexpected field type"),
        (
            {"M": []},
            "Unrecognized collection type "
            "java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>",
        ),
        ("x", "Unexpected value type in payload"),
        ({"L": [1]}, "Unexpected value type in payload"),
        ({"M": {"a": []}}, "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.AttributeValue"),
        # Types are checked before members are compared.
        ({"SS": ["x", "x", 1]}, "NUMBER_VALUE cannot be converted to String"),
        ({"NS": ["1", "1", True]}, "TRUE_VALUE cannot be converted to String"),
        ({"BS": ["YQ==", "YQ==", 1]}, "only base-64-encoded strings are convertible to bytes"),
        ({"SS": ["x", "x", {}]}, "Start of structure or map found where not expected"),
    ],
)
def test_wrong_json_types(value: Any, message: str) -> None:
    with pytest.raises(SerializationException) as rejected:
        normalise_value(value)
    assert rejected.value.message == message


# Python's json lets one through; UTF-8, and so the store, has no bytes for it.
@pytest.mark.parametrize("item", [{"a": {"S": "\ud800"}}, {"\ud800": {"S": "a"}}, {"a": {"SS": ["\ud800"]}}])
def test_half_a_surrogate_pair_is_rejected(item: dict[str, Any]) -> None:
    with pytest.raises(SerializationException):
        normalise_item(item)
    with pytest.raises(SerializationException):
        normalise_value({"M": item})


@pytest.mark.parametrize(
    ("item", "binary"),
    [
        ({"a": {"S": "x"}, "b": {"NS": ["1"]}}, False),
        ({"a": {"B": ""}}, True),
        ({"a": {"L": [{"M": {"b": {"BS": ["YQ=="]}}}]}}, True),
    ],
)
def test_binary_is_noticed_however_deep(item: dict[str, Any], binary: bool) -> None:
    normalised = normalise_item(item)
    assert normalised.binary is binary
    assert holds_binary(normalised.item) is binary


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({"N": "1"}, {"N": "1.0"}),
        ({"SS": ["a", "b"]}, {"SS": ["b", "a"]}),
        ({"NS": ["1", "2"]}, {"NS": ["2.0", "1"]}),
        ({"BS": ["YQ==", "Yg=="]}, {"BS": ["Yg==", "YQ=="]}),
        ({"L": [{"SS": ["a", "b"]}]}, {"L": [{"SS": ["b", "a"]}]}),
        ({"M": {"x": {"N": "1"}, "y": {"S": ""}}}, {"M": {"y": {"S": ""}, "x": {"N": "1.0"}}}),
    ],
)
def test_equal_whatever_the_order_and_notation(a: dict[str, Any], b: dict[str, Any]) -> None:
    assert equal(a, b)
    assert equal(b, a)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({"S": "1"}, {"N": "1"}),
        ({"S": "a"}, {"S": "A"}),
        ({"N": "1"}, {"N": "1.1"}),
        ({"BOOL": True}, {"BOOL": False}),
        ({"SS": ["a"]}, {"SS": ["a", "b"]}),
        ({"NS": ["1"]}, {"SS": ["1"]}),
        ({"L": [{"S": "a"}, {"S": "b"}]}, {"L": [{"S": "b"}, {"S": "a"}]}),
        ({"L": [{"S": "a"}]}, {"L": []}),
        ({"M": {"x": {"S": "a"}}}, {"M": {"y": {"S": "a"}}}),
        ({"M": {"x": {"S": "a"}}}, {"M": {"x": {"S": "b"}}}),
    ],
)
def test_not_equal(a: dict[str, Any], b: dict[str, Any]) -> None:
    assert not equal(a, b)
    assert not equal(b, a)


@pytest.mark.parametrize(
    ("less", "more"),
    [
        ({"S": "a"}, {"S": "b"}),
        ({"S": ""}, {"S": "a"}),
        # By UTF-8; UTF-16 has the opposite order.
        ({"S": "\uffff"}, {"S": "\U0001f600"}),
        ({"N": "2"}, {"N": "10"}),
        ({"N": "-10"}, {"N": "-2"}),
        # By the bytes; base64 has the opposite order.
        ({"B": "+w=="}, {"B": "/w=="}),
        ({"B": "AA=="}, {"B": "gA=="}),
    ],
)
def test_compare(less: dict[str, Any], more: dict[str, Any]) -> None:
    assert compare(less, more) == -1
    assert compare(more, less) == 1
    assert compare(less, less) == 0


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({"S": "1"}, {"N": "1"}),
        ({"BOOL": True}, {"BOOL": False}),
        ({"L": []}, {"L": []}),
        ({"SS": ["a"]}, {"SS": ["b"]}),
    ],
)
def test_what_has_no_order(a: dict[str, Any], b: dict[str, Any]) -> None:
    assert compare(a, b) is None


def test_type_of() -> None:
    assert type_of({"BOOL": True}) == "BOOL"


# Base64 does not keep the order of bytes, and long binaries are compared in pieces.
@pytest.mark.parametrize("length", [0, 1, 3, 3071, 3072, 3073, 10_000])
def test_order_of_binaries(length: int) -> None:
    def binary(raw: bytes) -> dict[str, Any]:
        return {"B": b2a_base64(raw, newline=False).decode()}

    same = bytes(length)
    assert compare(binary(same), binary(same)) == 0
    assert compare(binary(same), binary(same + b"\0")) == -1
    assert compare(binary(same + b"\xfb"), binary(same + b"\0\xff")) == 1


# An item with millions of elements is rejected before they are looked at.
@pytest.mark.parametrize("value", [{"L": [None] * 500_000}, {"NS": [None] * 500_000}])
def test_an_item_with_too_many_elements_is_not_walked(value: dict[str, Any]) -> None:
    with pytest.raises(ValidationException, match="Item size has exceeded the maximum allowed size") as caught:
        normalise_item({"a": value})
    assert caught.value.code == "ValidationException"

"""Numbers: which are valid, how they are returned, and how they are added."""

from __future__ import annotations

from itertools import product

import pytest

from tests.oracle.pair import Pair

KEY = {"pk": {"S": "x"}}
DIGITS = "12345678901234567890123456789012345678"

SPELLINGS = [
    "0",
    "-0",
    "+0",
    "0.0",
    "0e10",
    "1",
    "+1",
    "-1",
    "01",
    "1.0",
    "1.50",
    ".5",
    "5.",
    "-.5",
    "1e3",
    "1E3",
    "1e+3",
    "1e-3",
    "-1.5e3",
    "100000",
    "1e20",
    "1e21",
    "1e38",
    "1e125",
    "-1e125",
    "9.9999999999999999999999999999999999999e125",
    "1e126",
    "-1e126",
    "10e125",
    "1e-130",
    "-1e-130",
    "1e-131",
    "0.1e-130",
    "123e-132",
    DIGITS,
    DIGITS + "0",
    DIGITS + "9",
    DIGITS + "e10",
    "0." + DIGITS,
    "-" + DIGITS,
    "1" + "0" * 38,
    "1" + "0" * 37 + "1",
    "0.00000000000000000000000000000000000000000000001",
    "1.00000000000000000000000000000000000000000000000",
    "",
    " ",
    "1 ",
    " 1",
    "1 2",
    "abc",
    "1e",
    "e5",
    "1e5.5",
    "--1",
    "+-1",
    "1,000",
    "1_000",
    "0x1",
    "Infinity",
    "-Infinity",
    "NaN",
    "inf",
    "1f",
    "1d",
    "1L",
    ".",
    "-",
    "+",
    "1..0",
    "1e999999999999",
    "1e-999999999999",
    "0e999",
]


@pytest.mark.parametrize("text", SPELLINGS)
def test_spellings(plain: Pair, text: str) -> None:
    plain.same("PutItem", TableName="plain", Item=KEY | {"n": {"N": text}, "s": {"NS": [text]}})
    plain.same("GetItem", TableName="plain", Key=KEY)
    plain.same(
        "UpdateItem",
        TableName="plain",
        Key=KEY,
        UpdateExpression="SET a.b = :n",
        ExpressionAttributeValues={":n": {"N": text}},
    )
    plain.same("Scan", TableName="plain", FilterExpression="n = :n", ExpressionAttributeValues={":n": {"N": text}})


TERMS = [
    "0",
    "1",
    "-1",
    "0.1",
    "-0.1",
    "0.2",
    "99999999999999999999999999999999999999",
    "-99999999999999999999999999999999999999",
    "1e37",
    "1e38",
    "1e-38",
    "9.9999999999999999999999999999999999999e125",
    "-9.9999999999999999999999999999999999999e125",
    "1e125",
    "1e-130",
    "-1e-130",
    "1.1e-129",
    DIGITS,
    "0." + DIGITS,
    "123.456",
]


@pytest.mark.parametrize("left", TERMS)
def test_arithmetic(plain: Pair, left: str) -> None:
    for expression, right in product(("SET n = n + :v", "SET n = n - :v", "ADD n :v"), TERMS):
        plain.answer("PutItem", TableName="plain", Item=KEY | {"n": {"N": left}})
        plain.same(
            "UpdateItem",
            TableName="plain",
            Key=KEY,
            UpdateExpression=expression,
            ExpressionAttributeValues={":v": {"N": right}},
            ReturnValues="ALL_NEW",
        )


@pytest.mark.parametrize("comparator", ["=", "<", ">="])
def test_comparison(plain: Pair, comparator: str) -> None:
    plain.each(("PutItem", {"TableName": "plain", "Item": {"pk": {"S": term}, "n": {"N": term}}}) for term in TERMS)
    plain.each(
        (
            "Scan",
            {
                "TableName": "plain",
                "FilterExpression": f"n {comparator} :v",
                "ExpressionAttributeValues": {":v": {"N": term}},
            },
        )
        for term in TERMS
    )

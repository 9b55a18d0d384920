"""What a policy's statements mean, and which documents are rejected because they could not be evaluated."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sortkey.engine.tables.resource_policy import Caller, parse_policy
from sortkey.errors import ValidationException
from sortkey.limits import RESOURCE_POLICY_BYTES

TABLE = "arn:aws:dynamodb:local:000000000000:table/orders"
STREAM = f"{TABLE}/stream/2026-08-24T00:00:00.000"
ANA = Caller("000000000000", "ana", now=1_700_000_000.0)
ARN_OF_ANA = "arn:aws:iam::000000000000:user/ana"

ALLOW: dict[str, Any] = {"Effect": "Allow", "Principal": "*", "Action": "dynamodb:GetItem", "Resource": TABLE}
DENY = ALLOW | {"Effect": "Deny"}


def effect(*statements: dict[str, Any], action: str = "GetItem", resource: str = TABLE) -> str | None:
    policy = parse_policy(json.dumps({"Version": "2012-10-17", "Statement": list(statements)}), TABLE)
    return policy.effect(ANA, f"dynamodb:{action}", resource)


def without(name: str, **members: Any) -> dict[str, Any]:
    return {key: value for key, value in ALLOW.items() if key != name} | members


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ([ALLOW], "Allow"),
        ([DENY], "Deny"),
        ([ALLOW, DENY], "Deny"),
        ([ALLOW | {"Action": "dynamodb:PutItem"}], None),
    ],
)
def test_a_denial_wins(statements: list[dict[str, Any]], expected: str | None) -> None:
    assert effect(*statements) == expected


@pytest.mark.parametrize(
    ("principal", "allowed", "denied"),
    [
        ("*", "Allow", "Deny"),
        ({"AWS": "*"}, "Allow", "Deny"),
        ({"AWS": ARN_OF_ANA}, "Allow", "Deny"),
        ({"AWS": ["arn:aws:iam::000000000000:user/bea", ARN_OF_ANA]}, "Allow", "Deny"),
        ({"AWS": "arn:aws:iam::000000000000:user/bea"}, None, None),
        # To an account, access is only delegated: its own rights decide. A denial is for everyone in it.
        ({"AWS": "000000000000"}, None, "Deny"),
        ({"AWS": "arn:aws:iam::000000000000:root"}, None, "Deny"),
        ({"AWS": "111111111111"}, None, None),
        ({"Service": "lambda.amazonaws.com"}, None, None),
    ],
)
def test_principals(principal: Any, allowed: str | None, denied: str | None) -> None:
    assert effect(ALLOW | {"Principal": principal}) == allowed
    assert effect(DENY | {"Principal": principal}) == denied


def test_not_principal_denies_everybody_else() -> None:
    others = without("Principal", Effect="Deny", NotPrincipal={"AWS": "arn:aws:iam::000000000000:user/bea"})
    assert effect(others) == "Deny"
    assert effect(others | {"NotPrincipal": {"AWS": ARN_OF_ANA}}) is None


@pytest.mark.parametrize("action", ["dynamodb:*", "dynamodb:Get*", "DYNAMODB:getitem", "dynamodb:GetIte?", "*"])
def test_actions_have_wildcards_and_no_case(action: str) -> None:
    assert effect(ALLOW | {"Action": ["dynamodb:Scan", action]}) == "Allow"
    assert effect(without("Action", NotAction=action)) is None
    assert effect(without("Action", NotAction="dynamodb:Scan")) == "Allow"


# Indexes have no policy of their own.
def test_resources_are_the_table_and_its_indexes() -> None:
    index = f"{TABLE}/index/by_city"
    assert effect(ALLOW, resource=index) is None
    assert effect(ALLOW | {"Resource": [TABLE, f"{TABLE}/index/*"]}, resource=index) == "Allow"
    assert effect(ALLOW | {"Resource": "*"}, resource=index) == "Allow"
    assert effect(without("Resource", NotResource=f"{TABLE}/index/*"), resource=index) is None


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ({"StringEquals": {"aws:username": "ana"}}, True),
        ({"StringEquals": {"aws:username": ["bea", "ana"]}}, True),
        ({"StringEquals": {"AWS:UserName": "Ana"}}, False),
        ({"StringEqualsIgnoreCase": {"aws:username": "Ana"}}, True),
        ({"StringNotEquals": {"aws:username": ["bea", "ana"]}}, False),
        ({"StringNotEquals": {"aws:username": "bea"}}, True),
        ({"StringLike": {"aws:username": "a*"}}, True),
        ({"StringNotLike": {"aws:username": "a*"}}, False),
        ({"StringEqualsIfExists": {"aws:PrincipalAccount": "000000000000"}}, True),
        ({"ArnLike": {"aws:PrincipalArn": "arn:aws:iam::*:user/*"}}, True),
        # A star stays between two colons.
        ({"ArnLike": {"aws:PrincipalArn": "arn:*:user/ana"}}, False),
        ({"ArnNotEquals": {"aws:PrincipalArn": ARN_OF_ANA}}, False),
        ({"DateGreaterThan": {"aws:CurrentTime": "2023-01-01T00:00:00Z"}}, True),
        ({"DateLessThan": {"aws:CurrentTime": "2023-01-01"}}, False),
        ({"NumericLessThanEquals": {"aws:EpochTime": 1_700_000_000}}, True),
        ({"Null": {"aws:username": True}}, False),
        ({"Null": {"aws:username": "false"}}, True),
        ({"StringEquals": {"aws:username": "ana"}, "DateLessThan": {"aws:CurrentTime": "2023-01-01"}}, False),
    ],
)
def test_conditions(condition: dict[str, Any], holds: bool) -> None:
    assert effect(ALLOW | {"Condition": condition}) == ("Allow" if holds else None)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        (ALLOW | {"Condition": {"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}}, "aws:SourceIp"),
        (ALLOW | {"Condition": {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["a"]}}}, "dynamodb:LeadingKeys"),
        (ALLOW | {"Condition": {"Bool": {"aws:username": "true"}}}, "'Bool'"),
        (ALLOW | {"Condition": {"NumericEquals": {"aws:username": 1}}}, "'NumericEquals'"),
        (ALLOW | {"Condition": {"DateEquals": {"aws:CurrentTime": "tomorrow"}}}, "'tomorrow' is not a time"),
        (ALLOW | {"Condition": {"StringEquals": {"aws:username": {}}}}, "neither a text nor a number"),
        (ALLOW | {"Condition": {"StringLike": {"aws:username": "${aws:userid}"}}}, "variable"),
        (ALLOW | {"Resource": f"{TABLE}${{aws:username}}"}, "variable"),
        (ALLOW | {"Resource": f"{TABLE}2"}, "is not arn:"),
        (ALLOW | {"Resource": []}, "needs a resource"),
        (ALLOW | {"Action": "dynamodb:ListStreams"}, 'The following action names are invalid: "dynamodb:ListStreams"'),
        (ALLOW | {"Action": []}, "The following action names are invalid: "),
        (ALLOW | {"NotAction": "dynamodb:Scan"}, "either Action or NotAction"),
        (without("Principal", Sid="one"), "statement 'one' needs either Principal or NotPrincipal"),
        (without("Principal", NotPrincipal="*"), "NotPrincipal is only possible in a statement that denies"),
        (ALLOW | {"Principal": "ana"}, "needs its kind"),
        (ALLOW | {"Principal": {"Federated": "cognito"}}, "'Federated'"),
        (ALLOW | {"Principal": {"AWS": "arn:aws:iam::000000000000:user/*"}}, "no wildcard"),
        (ALLOW | {"Effect": "allow"}, "Invalid enum value 'allow'"),
        (ALLOW | {"Actions": "*"}, "unknown field `Actions`"),
    ],
)
def test_what_cannot_be_evaluated_is_rejected(statement: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationException) as caught:
        effect(statement)
    assert caught.value.message.startswith("One or more parameter values were invalid: Invalid policy document: ")
    assert reason in caught.value.message


@pytest.mark.parametrize("text", ["", "{", "[]", '{"Statement": []}', '{"Version": "2020-01-01", "Statement": []}'])
def test_what_is_no_policy_is_rejected(text: str) -> None:
    with pytest.raises(ValidationException, match="Invalid policy document"):
        parse_policy(text, TABLE)


def test_white_space_counts() -> None:
    text = json.dumps({"Statement": ALLOW})
    parse_policy(text.ljust(RESOURCE_POLICY_BYTES), TABLE)
    with pytest.raises(ValidationException, match="larger than 20480 bytes"):
        parse_policy(text.ljust(RESOURCE_POLICY_BYTES + 1), TABLE)


def test_streams_have_their_own_actions() -> None:
    statement = ALLOW | {"Action": "dynamodb:GetRecords", "Resource": STREAM}
    policy = parse_policy(json.dumps({"Statement": statement}), STREAM)
    assert policy.effect(ANA, "dynamodb:GetRecords", STREAM) == "Allow"
    with pytest.raises(ValidationException, match="action names are invalid"):
        parse_policy(json.dumps({"Statement": statement | {"Action": "dynamodb:GetItem"}}), STREAM)


# A text of stars must not keep the endpoint busy.
@pytest.mark.slow
def test_many_stars_are_matched_quickly() -> None:
    assert effect(ALLOW | {"Principal": "*", "Condition": {"StringLike": {"aws:username": "*a" * 5000 + "b"}}}) is None

"""AWS's messages, and where each is known from: docs/internals/aws-words.md lists exactly these."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from tests.engine.conftest import Call, ExpectError
from tests.engine.samples import create, index, n, s

ROOT: Final = Path(__file__).parents[3]
TABLE: Final = Path(__file__).with_name("words.md")
PAGE: Final = ROOT / "docs" / "internals" / "aws-words.md"
"""Includes the table when the site is built."""

MODEL: Final = "the service model's constraint"
LOCAL: Final = "DynamoDB Local"
PATTERN: Final = "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
AT_LEAST: Final = "Member must have length greater than or equal to"
AT_MOST: Final = "Member must have length less than or equal to"
SUPPORTED: Final = "Number overflow. Attempting to store a number with magnitude larger than supported range"
START: Final = "The provided starting key is invalid"
DETECTED: Final = "1 validation error detected: "
DYNOXIDE: Final = "https://github.com/nubo-db/dynoxide"
KEY: Final = {"pk": {"S": "x"}, "sk": {"S": "x"}}
LARGEST: Final = {"N": f"9.{'9' * 37}E+125"}
ARN: Final = "arn:aws:dynamodb:local:000000000000:table/none"
LOCAL_QUERY: Final = {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": s("x")}}


def reported(place: str, when: str) -> str:
    return f"reported by {place}, {when}"


class Words(NamedTuple):
    case: str
    operation: str
    members: dict[str, Any]
    message: str
    """As it is, or with `…` for what the request has there."""
    source: str
    code: str = "ValidationException"


def broken(value: str, path: str, *constraints: str) -> str:
    plural = "" if len(constraints) == 1 else "s"
    each = [f"Value '{value}' at '{path}' failed to satisfy constraint: {constraint}" for constraint in constraints]
    return f"{len(each)} validation error{plural} detected: {'; '.join(each)}"


def hidden(path: str, constraint: str) -> str:
    """Of operations that do not show the value, and spell members as the model does."""
    return f"{DETECTED}Value at '{path}' failed to satisfy constraint: {constraint}"


def table(*names: str) -> dict[str, Any]:
    keys = [{"AttributeName": name, "KeyType": "RANGE" if position else "HASH"} for position, name in enumerate(names)]
    attributes = [{"AttributeName": name, "AttributeType": "S"} for name in dict.fromkeys(names)]
    return {
        "TableName": "new",
        "KeySchema": keys,
        "AttributeDefinitions": attributes,
        "BillingMode": "PAY_PER_REQUEST",
    }


def gets(count: int) -> list[dict[str, Any]]:
    return [{"Get": {"TableName": "tab", "Key": {"pk": s(str(number)), "sk": s("x")}}} for number in range(count)]


def keys(count: int) -> list[dict[str, Any]]:
    return [each["Get"]["Key"] for each in gets(count)]


WORDS: Final = [
    Words(
        "a short table name",
        "GetItem",
        {"TableName": "ab", "Key": {}},
        broken("ab", "tableName", f"{AT_LEAST} 3"),
        f"{MODEL} of a table's name; the bounds are those of AWS's naming rules",
    ),
    Words(
        "a table name with other characters",
        "GetItem",
        {"TableName": "a b", "Key": {}},
        broken("a b", "tableName", PATTERN),
        reported("https://github.com/serverless/serverless/issues/5120", "2018")
        + "; "
        + reported("https://github.com/scylladb/scylladb/pull/12608", "2023"),
    ),
    Words(
        "both, in an ARN too; the name is reported before anything else",
        "Query",
        {"TableName": "a;", "Limit": 0},
        broken("a;", "tableName", PATTERN, f"{AT_LEAST} 3"),
        "the order " + reported("https://github.com/nubo-db/dynoxide/pull/127", "2026"),
    ),
    Words(
        "an empty table name",
        "GetItem",
        {"TableName": "", "Key": {}},
        broken("", "tableName", f"{AT_LEAST} 1"),
        reported("https://github.com/nubo-db/dynoxide/issues/11", "2026"),
    ),
    Words(
        "Limit 0 of a Scan",
        "Scan",
        {"TableName": "tab", "Limit": 0},
        broken("0", "limit", "Member must have value greater than or equal to 1"),
        MODEL,
    ),
    Words(
        "Limit 0 of a Query",
        "Query",
        {"TableName": "tab", "Limit": 0} | LOCAL_QUERY,
        hidden("Limit", "Member must have value greater than or equal to 1"),
        reported(f"{DYNOXIDE}/issues/11", "2026"),
    ),
    Words(
        "an empty BatchGetItem",
        "BatchGetItem",
        {"RequestItems": {}},
        hidden("RequestItems", f"{AT_LEAST} 1"),
        reported(f"{DYNOXIDE}/pull/198", "2026, of 32 of 33 regions"),
    ),
    Words(
        "an empty BatchWriteItem",
        "BatchWriteItem",
        {"RequestItems": {}},
        "The requestItems parameter is required for BatchWriteItem",
        reported(f"{DYNOXIDE}/pull/198", "2026, of 31 of 33 regions"),
    ),
    Words(
        "no keys of a table",
        "BatchGetItem",
        {"RequestItems": {"tab": {"Keys": []}}},
        hidden("RequestItems.tab.member.Keys", f"{AT_LEAST} 1"),
        "as for too many",
    ),
    Words(
        "101 keys of one table",
        "BatchGetItem",
        {"RequestItems": {"tab": {"Keys": keys(101)}}},
        hidden("RequestItems.tab.member.Keys", f"{AT_MOST} 100"),
        reported(f"{DYNOXIDE}/issues/18", "2026"),
    ),
    Words(
        "a projection of one table and attributes of another",
        "BatchGetItem",
        {
            "RequestItems": {
                "tab": {"Keys": [KEY], "ProjectionExpression": "pk"},
                "other": {"Keys": [KEY], "AttributesToGet": ["pk"]},
            }
        },
        "Can not use both expression and non-expression parameters in the same request: "
        "Non-expression parameters: {AttributesToGet} Expression parameters: {ProjectionExpression}",
        reported(f"{DYNOXIDE}/pull/127", "2026") + f"; {LOCAL}",
    ),
    Words(
        "a key of another type, or none, in an item of a batch",
        "BatchWriteItem",
        {"RequestItems": {"tab": [{"PutRequest": {"Item": {"pk": {"N": "1"}, "sk": {"S": "x"}}}}]}},
        "The provided key element does not match the schema",
        reported(f"{DYNOXIDE}/issues/39", "2026"),
    ),
    Words(
        "what is invalid without the table in PutItem, UpdateItem and DeleteItem: expressions and their placeholders, "
        "sets, NULL, ReturnValues",
        "DeleteItem",
        {"TableName": "tab", "Key": KEY, "ConditionExpression": "a = b", "ExpressionAttributeNames": {"#st": "b"}},
        f"{DETECTED}Value provided in ExpressionAttributeNames unused in expressions: keys: {{#st}}",
        reported("https://github.com/floci-io/floci/issues/2893", "2026")
        + "; "
        + reported(f"{DYNOXIDE}/pull/152", "2026"),
    ),
    Words(
        "the same, of a set among the values of an expression",
        "UpdateItem",
        {
            "TableName": "tab",
            "Key": KEY,
            "UpdateExpression": "SET a = :a",
            "ExpressionAttributeValues": {":a": {"SS": []}},
        },
        f"{DETECTED}One or more parameter values were invalid: An string set  may not be empty",
        reported("https://github.com/ministackorg/ministack/issues/1038", "2026"),
    ),
    Words(
        "the largest index of a list is 4294967294",
        "UpdateItem",
        {
            "TableName": "tab",
            "Key": KEY,
            "UpdateExpression": "SET l[4294967295] = :v",
            "ExpressionAttributeValues": {":v": n(1)},
        },
        f"{DETECTED}Invalid UpdateExpression: List index is not within the allowable range; index: [4294967295]",
        reported("https://github.com/floci-io/floci/issues/3073", "2026"),
    ),
    Words(
        "two wrong enumerations in UpdateItem: the first only",
        "UpdateItem",
        {"TableName": "tab", "Key": KEY, "ReturnValues": "X", "ReturnConsumedCapacity": "Y"},
        broken(
            "X",
            "returnValues",
            "Member must satisfy enum value set: [ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]",
        ),
        reported(f"{DYNOXIDE}/issues/83", "2026"),
    ),
    Words(
        "what a Query, but not a Scan, cannot select",
        "Query",
        {"TableName": "tab", "Select": "COUNT", "ProjectionExpression": "pk"} | LOCAL_QUERY,
        f"{DETECTED}Cannot specify the ProjectionExpression when choosing to get only the Count",
        reported("https://github.com/ExtendDB/extenddb/pull/211", "2026"),
    ),
    Words(
        "a part of a key attribute in a key condition",
        "Query",
        {
            "TableName": "tab",
            "KeyConditionExpression": "pk = :p AND sk.a = :p",
            "ExpressionAttributeValues": {":p": s("x")},
        },
        "Invalid KeyConditionExpression: KeyConditionExpressions cannot have conditions on nested attributes",
        reported(f"{DYNOXIDE}/pull/127", "2026"),
    ),
    Words(
        "a view type of no stream in CreateTable",
        "CreateTable",
        table("a") | {"StreamSpecification": {"StreamEnabled": False, "StreamViewType": "NEW_IMAGE"}},
        "One or more parameter values were invalid: "
        "Table is being created with a stream disabled, UpdateViewType should not be specified",
        reported(f"{DYNOXIDE}/issues/115", "2026"),
    ),
    Words(
        "on-demand maxima of a provisioned table; CreateTable leaves out `the` and adds a full stop",
        "UpdateTable",
        {
            "TableName": "tab",
            "BillingMode": "PROVISIONED",
            "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
            "OnDemandThroughput": {"MaxReadRequestUnits": 1},
        },
        "One or more parameter values were invalid: "
        "MaxReadRequestUnits for OnDemandThroughput cannot be specified when the table BillingMode is PROVISIONED",
        reported(f"{DYNOXIDE}/issues/159", "2026"),
    ),
    Words(
        "a NextToken of another statement",
        "ExecuteStatement",
        {"Statement": "SELECT * FROM tab", "NextToken": urlsafe_b64encode(b"12345678[0,null]").decode()},
        "NextToken does not match request",
        reported(DYNOXIDE, "2026, in its changelog"),
    ),
    Words(
        "a statement that is none",
        "ExecuteStatement",
        {"Statement": "FETCH tab"},
        "Statement wasn't well formed, can't be processed: Expected data manipulation",
        reported(DYNOXIDE, "2026, in its changelog"),
    ),
    Words(
        "101 keys of two tables",
        "BatchGetItem",
        {"RequestItems": {"tab": {"Keys": keys(100)}, "other": {"Keys": keys(1)}}},
        "Too many items requested for the BatchGetItem call",
        LOCAL,
    ),
    Words(
        "26 writes to one table, or none",
        "BatchWriteItem",
        {"RequestItems": {"tab": [{"DeleteRequest": {"Key": key}} for key in keys(26)]}},
        broken("…", "requestItems", f"Map value must satisfy constraint: [{AT_MOST} 25, {AT_LEAST} 1]"),
        MODEL,
    ),
    Words(
        "an empty transaction",
        "TransactWriteItems",
        {"TransactItems": []},
        broken("[]", "transactItems", f"{AT_LEAST} 1"),
        f"{MODEL}; {LOCAL}",
    ),
    Words(
        "a transaction of 101",
        "TransactGetItems",
        {"TransactItems": gets(101)},
        broken("…", "transactItems", f"{AT_MOST} 100"),
        f"{MODEL}; {LOCAL}",
    ),
    Words(
        "a third key element",
        "CreateTable",
        table("a", "b", "c"),
        broken(
            "[KeySchemaElement(attributeName=a, keyType=HASH), KeySchemaElement(attributeName=b, keyType=RANGE), "
            "KeySchemaElement(attributeName=c, keyType=RANGE)]",
            "keySchema",
            f"{AT_MOST} 2",
        ),
        reported("https://github.com/nubo-db/dynoxide/issues/11", "2026"),
    ),
    Words(
        "a key element named twice",
        "CreateTable",
        table("a", "a"),
        "Both the Hash Key and the Range Key element in the KeySchema have the same name",
        "AWS's older answers; no newer report is known",
    ),
    Words(
        "KeyConditions and KeyConditionExpression; other expressions may stand beside KeyConditions",
        "Query",
        {"TableName": "tab", "KeyConditions": {}} | LOCAL_QUERY,
        "Can not use both expression and non-expression parameters in the same request: "
        "Non-expression parameters: {KeyConditions} Expression parameters: {KeyConditionExpression}",
        LOCAL,
    ),
    Words(
        "ALL_PROJECTED_ATTRIBUTES without an index, in a scan too",
        "Scan",
        {"TableName": "tab", "Select": "ALL_PROJECTED_ATTRIBUTES"},
        "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName",
        reported("https://github.com/nubo-db/dynoxide/pull/100", "2026") + f"; {LOCAL}",
    ),
    Words(
        "a sum that is too large, in SET and ADD",
        "UpdateItem",
        {
            "TableName": "tab",
            "Key": {"pk": s("x"), "sk": s("x")},
            "UpdateExpression": "SET big = big + :v",
            "ExpressionAttributeValues": {":v": n("1E+125")},
        },
        SUPPORTED,
        reported("https://github.com/ExtendDB/extenddb/issues/94", "2026"),
    ),
    Words(
        "a null in a set",
        "PutItem",
        {"TableName": "tab", "Item": {"pk": s("x"), "sk": s("x"), "a": {"SS": [None]}}},
        "One or more parameter values were invalid: An string set may not have a null string as a member",
        LOCAL,
    ),
    Words(
        "a start key with other attributes: Query",
        "Query",
        {"TableName": "tab", "ExclusiveStartKey": {"pk": s("x")}} | LOCAL_QUERY,
        START,
        reported("https://github.com/floci-io/floci/pull/1443", "2026"),
    ),
    Words(
        "the same: Scan",
        "Scan",
        {"TableName": "tab", "IndexName": "by_rank", "ExclusiveStartKey": {"pk": s("x"), "sk": s("x")}},
        f"{START}: The provided key element does not match the schema",
        reported("https://github.com/floci-io/floci/pull/1443", "2026")
        + "; "
        + reported("https://github.com/awslabs/dynamodb-data-mapper-js/issues/39", "2018"),
    ),
    Words(
        "a start key of another type: both",
        "Query",
        {"TableName": "tab", "ExclusiveStartKey": {"pk": s("x"), "sk": n(1)}} | LOCAL_QUERY,
        f"{START}: The provided key element does not match the schema",
        "as for Scan; no report for Query is known",
    ),
    Words(
        "tags of a table that does not exist",
        "ListTagsOfResource",
        {"ResourceArn": ARN},
        f"Requested resource not found: ResourcArn: {ARN} not found",
        reported("https://github.com/turbot/steampipe-plugin-aws/issues/1516", "2022"),
        "ResourceNotFoundException",
    ),
]


def page() -> str:
    lines = [f"| {each.case} | `{each.message}` | {each.source} |" for each in WORDS]
    return "\n".join(["| request | message | known from |", "|---|---|---|", *lines, ""])


# `python -m tests.engine.operations.test_words` writes the table again.
def test_documentation_lists_exactly_these() -> None:
    assert page() == TABLE.read_text(encoding="utf-8")
    assert f'\n--8<-- "{TABLE.relative_to(ROOT)}"\n' in PAGE.read_text(encoding="utf-8")


@pytest.fixture
def tables(call: Call) -> None:
    for name in ("tab", "other"):
        create(call, name, "pk:S", "sk:S", local=[index("by_rank", "pk:S", "rank:N")])
    call("PutItem", TableName="tab", Item={"pk": s("x"), "sk": s("x"), "big": LARGEST})


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize("words", WORDS, ids=lambda words: words.case)
def test_words(call: Call, expect_error: ExpectError, words: Words) -> None:
    with expect_error(words.code) as rejected:
        call(words.operation, **words.members)
    begin, _, end = words.message.partition("…")
    assert rejected.value.message.startswith(begin)
    assert rejected.value.message.endswith(end)
    assert "…" in words.message or rejected.value.message == words.message


@pytest.mark.usefixtures("tables")
def test_key_conditions_stand_beside_expressions(call: Call) -> None:
    condition = {"pk": {"ComparisonOperator": "EQ", "AttributeValueList": [s("x")]}}
    answer = call(
        "Query",
        TableName="tab",
        KeyConditions=condition,
        FilterExpression="attribute_exists(big)",
        ProjectionExpression="sk",
    )
    assert answer["Items"] == [{"sk": s("x")}]


if __name__ == "__main__":
    TABLE.write_text(page(), encoding="utf-8")

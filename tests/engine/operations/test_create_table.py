"""CreateTable: what it answers, what it keeps, and everything it rejects, in AWS's words."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.conftest import Call, ExpectError
from tests.engine.operations.table_shapes import (
    ALL,
    INVALID,
    UNITS,
    attributes,
    index,
    key_schema,
    local_index,
    provisioned,
    table,
)

THREE = attributes(p="S", s="N", g="S")


def test_answers_with_the_whole_description(call: Call) -> None:
    shown = call("CreateTable", **provisioned())["TableDescription"]
    assert len(shown.pop("TableId")) == 36
    assert shown == {
        "TableName": "orders",
        "TableArn": "arn:aws:dynamodb:local:000000000000:table/orders",
        "TableStatus": "ACTIVE",
        "CreationDateTime": 1_750_000_000.0,
        "KeySchema": key_schema("p", "s"),
        "AttributeDefinitions": attributes(p="S", s="N"),
        "ProvisionedThroughput": {"NumberOfDecreasesToday": 0, **UNITS},
        "WarmThroughput": {"ReadUnitsPerSecond": 5, "WriteUnitsPerSecond": 6, "Status": "ACTIVE"},
        "ItemCount": 0,
        "TableSizeBytes": 0,
        "DeletionProtectionEnabled": False,
    }


def test_on_demand_is_in_the_billing_mode_summary(call: Call) -> None:
    shown = call("CreateTable", **table())["TableDescription"]
    assert shown["BillingModeSummary"] == {
        "BillingMode": "PAY_PER_REQUEST",
        "LastUpdateToPayPerRequestDateTime": 1_750_000_000.0,
    }
    assert shown["ProvisionedThroughput"] == {
        "NumberOfDecreasesToday": 0,
        "ReadCapacityUnits": 0,
        "WriteCapacityUnits": 0,
    }


def test_indexes_are_described(call: Call) -> None:
    projection = {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["a", "b"]}
    shown = call(
        "CreateTable",
        **provisioned(
            AttributeDefinitions=THREE,
            LocalSecondaryIndexes=[local_index()],
            GlobalSecondaryIndexes=[index(sort="s", Projection=projection, ProvisionedThroughput=UNITS)],
        ),
    )["TableDescription"]
    arn = shown["TableArn"]
    assert shown["LocalSecondaryIndexes"] == [
        {
            "IndexName": "by_t",
            "KeySchema": key_schema("p", "g"),
            "Projection": ALL,
            "IndexSizeBytes": 0,
            "ItemCount": 0,
            "IndexArn": f"{arn}/index/by_t",
        }
    ]
    assert shown["GlobalSecondaryIndexes"] == [
        {
            "IndexName": "by_g",
            "KeySchema": key_schema("g", "s"),
            "Projection": projection,
            "IndexStatus": "ACTIVE",
            "ProvisionedThroughput": {"NumberOfDecreasesToday": 0, **UNITS},
            "WarmThroughput": {"ReadUnitsPerSecond": 5, "WriteUnitsPerSecond": 6, "Status": "ACTIVE"},
            "IndexSizeBytes": 0,
            "ItemCount": 0,
            "IndexArn": f"{arn}/index/by_g",
        }
    ]


def test_a_stream_is_named_after_its_moment(call: Call) -> None:
    specification = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    shown = call("CreateTable", **table(StreamSpecification=specification))["TableDescription"]
    assert shown["StreamSpecification"] == specification
    assert shown["LatestStreamLabel"] == "2025-06-15T15:06:40.000"
    assert shown["LatestStreamArn"] == f"{shown['TableArn']}/stream/{shown['LatestStreamLabel']}"


def test_a_disabled_stream_creates_no_stream(call: Call) -> None:
    shown = call("CreateTable", **table(StreamSpecification={"StreamEnabled": False}))["TableDescription"]
    assert "StreamSpecification" not in shown
    assert "LatestStreamArn" not in shown


# Settings without effect here are still described, or tools that compare would always see a difference.
def test_settings_are_shown_as_they_were_given(call: Call) -> None:
    call(
        "CreateTable",
        **table(
            SSESpecification={"Enabled": True, "KMSMasterKeyId": "1234"},
            TableClass="STANDARD_INFREQUENT_ACCESS",
            DeletionProtectionEnabled=True,
            OnDemandThroughput={"MaxReadRequestUnits": 7, "MaxWriteRequestUnits": 8},
            WarmThroughput={"ReadUnitsPerSecond": 13_000},
        ),
    )
    shown = call("DescribeTable", TableName="orders")["Table"]
    assert shown["SSEDescription"] == {
        "Status": "ENABLED",
        "SSEType": "KMS",
        "KMSMasterKeyArn": "arn:aws:kms:local:000000000000:key/1234",
    }
    assert shown["TableClassSummary"] == {"TableClass": "STANDARD_INFREQUENT_ACCESS"}
    assert shown["DeletionProtectionEnabled"] is True
    assert shown["OnDemandThroughput"] == {"MaxReadRequestUnits": 7, "MaxWriteRequestUnits": 8}
    assert shown["WarmThroughput"] == {"ReadUnitsPerSecond": 13_000, "WriteUnitsPerSecond": 4_000, "Status": "ACTIVE"}


def test_the_table_may_be_given_by_its_arn(call: Call) -> None:
    arn = "arn:aws:dynamodb:local:000000000000:table/orders"
    assert call("CreateTable", **table(arn))["TableDescription"]["TableName"] == "orders"


def test_names_differ_by_case(call: Call) -> None:
    call("CreateTable", **table("orders"))
    call("CreateTable", **table("Orders"))
    assert call("ListTables")["TableNames"] == ["Orders", "orders"]


def test_a_name_can_be_taken_once(call: Call, expect_error: ExpectError) -> None:
    call("CreateTable", **table())
    with expect_error("ResourceInUseException", "Table already exists: orders"):
        call("CreateTable", **table())


def test_tags_come_with_the_table(call: Call) -> None:
    arn = call("CreateTable", **table(Tags=[{"Key": "team", "Value": "x"}]))["TableDescription"]["TableArn"]
    assert call("ListTagsOfResource", ResourceArn=arn) == {"Tags": [{"Key": "team", "Value": "x"}]}


KEYS = [
    (
        {"KeySchema": [{"AttributeName": "p", "KeyType": "RANGE"}]},
        "Invalid KeySchema: The first KeySchemaElement is not a HASH key type",
    ),
    (
        {"KeySchema": key_schema("p", "p")},
        "Both the Hash Key and the Range Key element in the KeySchema have the same name",
    ),
    (
        {"KeySchema": [*key_schema("p"), *key_schema("s")]},
        "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type",
    ),
    (
        {"AttributeDefinitions": attributes(p="S")},
        "Invalid KeySchema: Some index key attribute have no definition",
    ),
    (
        {"AttributeDefinitions": attributes(p="S", x="S")},
        INVALID + "Some index key attributes are not defined in AttributeDefinitions. "
        "Keys: [p, s], AttributeDefinitions: [p, x]",
    ),
    (
        {"AttributeDefinitions": THREE},
        INVALID + "Number of attributes in KeySchema does not exactly match number of attributes defined in "
        "AttributeDefinitions",
    ),
    (
        {"AttributeDefinitions": [*THREE, *attributes(h="S")], "GlobalSecondaryIndexes": [index()]},
        INVALID + "Some AttributeDefinitions are not used. AttributeDefinitions: [p, s, g, h], keys used: [p, s, g]",
    ),
    (
        {"AttributeDefinitions": [*attributes(p="S"), *attributes(p="N")]},
        INVALID + "Duplicate AttributeName in AttributeDefinitions: p",
    ),
]

BILLING = [
    (
        {"ProvisionedThroughput": UNITS},
        INVALID
        + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST",
    ),
    (
        {"BillingMode": "PROVISIONED"},
        INVALID + "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED",
    ),
    (
        {"BillingMode": None},
        INVALID + "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED",
    ),
    (
        {"BillingMode": None, "ProvisionedThroughput": {"ReadCapacityUnits": 10**12 + 1, "WriteCapacityUnits": 1}},
        "Given value 1000000000001 for ReadCapacityUnits is out of bounds",
    ),
    (
        {"AttributeDefinitions": THREE, "GlobalSecondaryIndexes": [index(ProvisionedThroughput=UNITS)]},
        INVALID + "ProvisionedThroughput should not be specified for index: by_g when BillingMode is PAY_PER_REQUEST",
    ),
    (
        {
            "BillingMode": "PROVISIONED",
            "ProvisionedThroughput": UNITS,
            "AttributeDefinitions": THREE,
            "GlobalSecondaryIndexes": [index()],
        },
        INVALID + "ProvisionedThroughput is not specified for index: by_g",
    ),
    (
        {"BillingMode": None, "ProvisionedThroughput": UNITS, "OnDemandThroughput": {"MaxReadRequestUnits": 1}},
        INVALID + "MaxReadRequestUnits for OnDemandThroughput cannot be specified "
        "when table BillingMode is PROVISIONED.",
    ),
    (
        {"OnDemandThroughput": {"MaxReadRequestUnits": -1}},
        INVALID + "Requested MaxReadRequestUnits for OnDemandThroughput for table is outside of valid range",
    ),
    (
        {"WarmThroughput": {"ReadUnitsPerSecond": 11_999}},
        INVALID + "Requested ReadUnitsPerSecond for WarmThroughput for table is lower than current WarmThroughput, "
        "decreasing WarmThroughput is not supported",
    ),
]

RANGE_S = {"AttributeName": "s", "KeyType": "RANGE"}
INCLUDED = {"ProjectionType": "INCLUDE", "NonKeyAttributes": [f"a{number}" for number in range(20)]}

INDEXES = [
    ({"GlobalSecondaryIndexes": []}, INVALID + "List of GlobalSecondaryIndexes is empty"),
    ({"LocalSecondaryIndexes": []}, INVALID + "List of LocalSecondaryIndexes is empty"),
    (
        {"GlobalSecondaryIndexes": [index(Projection={})]},
        INVALID + "Unknown ProjectionType: null",
    ),
    (
        {"GlobalSecondaryIndexes": [index(Projection={"ProjectionType": "INCLUDE"})]},
        INVALID + "ProjectionType is INCLUDE, but NonKeyAttributes is not specified",
    ),
    (
        {"LocalSecondaryIndexes": [local_index(Projection={"ProjectionType": "ALL", "NonKeyAttributes": ["a"]})]},
        INVALID + "ProjectionType is ALL, but NonKeyAttributes is specified",
    ),
    (
        {"LocalSecondaryIndexes": [local_index(Projection={"ProjectionType": "KEYS_ONLY", "NonKeyAttributes": ["a"]})]},
        INVALID + "ProjectionType is KEYS_ONLY, but NonKeyAttributes is specified",
    ),
    (
        {"GlobalSecondaryIndexes": [index(f"by_{number}", Projection=INCLUDED) for number in range(6)]},
        INVALID + "Number of NonKeyAttributes over all indexes exceeds the per-table limit of 100",
    ),
    (
        {"GlobalSecondaryIndexes": [index(), index()]},
        INVALID + "Duplicate index name: by_g",
    ),
    # Local and global indexes share one namespace, since a Query names only the index.
    (
        {"GlobalSecondaryIndexes": [index("same")], "LocalSecondaryIndexes": [local_index("same")]},
        INVALID + "Duplicate index name: same",
    ),
    (
        {"GlobalSecondaryIndexes": [index(f"by_{number}") for number in range(21)]},
        INVALID + "GlobalSecondaryIndex count exceeds the per-table limit of 20",
    ),
    (
        {"LocalSecondaryIndexes": [local_index(f"by_{number}") for number in range(6)]},
        INVALID + "Number of LocalSecondaryIndexes exceeds per-table limit of 5",
    ),
    (
        {"LocalSecondaryIndexes": [local_index(sort=None)]},
        INVALID + "Index KeySchema does not have a range key for index: by_t",
    ),
    (
        {"LocalSecondaryIndexes": [local_index(partition="g", sort="s")]},
        INVALID + "Index KeySchema does not have the same leading hash key as table KeySchema for index: by_t. "
        "index hash key: g, table hash key: p",
    ),
    (
        {"KeySchema": key_schema("p"), "LocalSecondaryIndexes": [local_index()]},
        INVALID + "Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex",
    ),
    # Multi-attribute keys are for global indexes only; a table or local index gets the older error.
    (
        {"LocalSecondaryIndexes": [local_index() | {"KeySchema": [*key_schema("p", "g"), RANGE_S]}]},
        "1 validation error detected: Value '[KeySchemaElement(attributeName=p, keyType=HASH), "
        "KeySchemaElement(attributeName=g, keyType=RANGE), KeySchemaElement(attributeName=s, keyType=RANGE)]' at "
        "'localSecondaryIndexes.1.member.keySchema' failed to satisfy constraint: "
        "Member must have length less than or equal to 2",
    ),
    (
        {"GlobalSecondaryIndexes": [index() | {"KeySchema": [*key_schema("g", "s"), *key_schema("p")]}]},
        "Invalid KeySchema: all HASH elements must come before the RANGE elements, index: by_g",
    ),
    (
        {"GlobalSecondaryIndexes": [index() | {"KeySchema": [*key_schema("g"), *key_schema("g")]}]},
        "Invalid KeySchema: an attribute may be named only once: [g, g], index: by_g",
    ),
    (
        {"GlobalSecondaryIndexes": [index() | {"KeySchema": [RANGE_S, RANGE_S]}]},
        "Invalid KeySchema: the first element must be of type HASH, index: by_g",
    ),
    (
        {"GlobalSecondaryIndexes": [index() | {"KeySchema": key_schema("g") * 5}]},
        "Invalid KeySchema: at most 4 HASH elements are allowed, index: by_g",
    ),
    (
        {"GlobalSecondaryIndexes": [index() | {"KeySchema": [*key_schema("g"), *[RANGE_S] * 5]}]},
        "Invalid KeySchema: at most 4 RANGE elements are allowed, index: by_g",
    ),
    (
        {"GlobalSecondaryIndexes": [index() | {"KeySchema": [*key_schema("g"), *key_schema("none")]}]},
        INVALID + "Some index key attributes are not defined in AttributeDefinitions. "
        "Keys: [g, none], AttributeDefinitions: [p, s, g]",
    ),
]

OTHERS = [
    (
        {"StreamSpecification": {"StreamEnabled": True}},
        INVALID + "Invalid StreamViewType: Stream ViewType must not be null or empty when enabling streams.",
    ),
    (
        {"StreamSpecification": {"StreamEnabled": False, "StreamViewType": "KEYS_ONLY"}},
        INVALID + "Table is being created with a stream disabled, UpdateViewType should not be specified",
    ),
    (
        {"SSESpecification": {"Enabled": True, "SSEType": "AES256"}},
        INVALID + "SSEType AES256 is not supported, the only supported SSEType is KMS",
    ),
    ({"ResourcePolicy": "{}"}, INVALID + "Invalid policy document: Object missing required field `Statement`"),
    (
        {"Tags": [{"Key": "aws:x", "Value": ""}]},
        INVALID + "aws: prefixed tag key names are not allowed for external use. Key: aws:x",
    ),
    (
        {"Tags": [{"Key": "a", "Value": "1"}, {"Key": "a", "Value": "2"}]},
        INVALID + "Duplicate tag key: a",
    ),
    (
        {"TableName": "ab"},
        "1 validation error detected: Value 'ab' at 'tableName' failed to satisfy constraint: "
        "Member must have length greater than or equal to 3",
    ),
]


@pytest.mark.parametrize(("members", "message"), [*KEYS, *BILLING, *OTHERS])
def test_rejects(call: Call, expect_error: ExpectError, members: dict[str, Any], message: str) -> None:
    with expect_error("ValidationException", message):
        call("CreateTable", **table(**members))
    assert call("ListTables")["TableNames"] == []


@pytest.mark.parametrize(("members", "message"), INDEXES)
def test_rejects_indexes(call: Call, expect_error: ExpectError, members: dict[str, Any], message: str) -> None:
    with expect_error("ValidationException", message):
        call("CreateTable", **table(AttributeDefinitions=THREE, **members))


# A hundred names in all, and a name counts once per index that includes it.
def test_the_projected_total_may_be_reached(call: Call) -> None:
    indexes = [index(f"by_{number}", Projection=INCLUDED) for number in range(5)]
    shown = call("CreateTable", **table(AttributeDefinitions=THREE, GlobalSecondaryIndexes=indexes))
    assert len(shown["TableDescription"]["GlobalSecondaryIndexes"]) == 5

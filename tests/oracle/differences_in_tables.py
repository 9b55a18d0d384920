"""Differences in tables: in definitions, descriptions and changes, or with another message."""

from __future__ import annotations

from typing import Any, Final

from tests.oracle import corrections
from tests.oracle.difference import ANSWERED, Answered, Difference, Rejected, Request
from tests.oracle.tables import PLAIN, index, keys, table

VALIDATION: Final = "ValidationException: "
INVALID: Final = f"{VALIDATION}One or more parameter values were invalid: "
BROKEN: Final = "InternalFailure: …"
UNITS: Final = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
MISNAMED: Final = " | ".join(
    VALIDATION + text
    for text in (
        "The number of attributes in key schema must match the number of attributes defined in attribute definitions.",
        "Cannot have two attributes with the same name",
        "No provisioned throughput specified for the …",
        "No defined key schema.  A key schema containing at least a hash key must be defined for all tables",
        "Key Schema too big.  Key Schema must at most consist of the hash and range key of a table",
        "Too many hash keys specified.  All Dynamo DB tables must have exactly one hash key",
        "Invalid key order. Hash Key must be specified first in key schema, Range Key must be specifed second",
        "Two keys can not have the same name",
        "Hash Key not specified in Attribute Definitions.  Type unknown.",
        "Invalid StreamViewType: …",
        "Two global secondary indices have the same name",
        "If Projection type INCLUDE is specified, some non-key attributes to include in the projection must be …",
        "Local secondary indices must have a range key",
        "Local Secondary indices must have the same hash key as the main table",
        "Local Secondary indices are not allowed on hash tables, only hash and range tables",
        "GSI list is empty/invalid",
        "Cannot have more than 5 local secondary indexes per table",
        "GlobalSecondaryIndex count exceeds the per-table limit",
    )
)


def create(definition: dict[str, Any]) -> tuple[Request]:
    return (("CreateTable", definition),)


def update(**members: Any) -> tuple[Request]:
    return (("UpdateTable", {"TableName": "orders"} | members),)


DIFFERENCES: Final[tuple[Difference, ...]] = (
    Rejected(
        id="table-definitions",
        why="AWS's messages for invalid tables.",
        ours=f"{INVALID}… | {VALIDATION}Invalid KeySchema: … | "
        f"{VALIDATION}Both the Hash Key and the Range Key element in the KeySchema have the same name",
        theirs=MISNAMED,
        example=create(table("tab", "pk", "pk")),
    ),
    Rejected(
        id="multi-attribute-keys",
        why="A global index's key may have several attributes since November 2025; this DynamoDB Local is older.",
        ours=ANSWERED,
        theirs=f"{VALIDATION}Key Schema too big.  Key Schema must at most consist of the hash and range key of a table",
        example=create(
            table("tab", "pk", global_=[index("several") | {"KeySchema": [*keys("a"), *keys("b"), *keys("pk")]}])
        ),
    ),
    Rejected(
        id="table-parameter",
        why="AWS's message for a request without a table name.",
        ours=f"{VALIDATION}The parameter 'TableName' is required but was not present in the request",
        theirs=f"{VALIDATION}Invalid table/index name.  … | "
        f"{VALIDATION}Value null at 'tableName' failed to satisfy constraint: Member must not be null",
        example=(("DescribeTable", {}),),
    ),
    Rejected(
        id="units-on-demand",
        why="On-demand tables have no units, and a list of indexes may not be empty; DynamoDB Local accepts both.",
        ours=f"{INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when … | "
        f"{INVALID}ProvisionedThroughput should not be specified for index: … | {INVALID}List of … is empty",
        theirs=ANSWERED,
        example=create(table("tab", "pk", ProvisionedThroughput=UNITS)),
    ),
    Rejected(
        id="missing-described-table",
        why="AWS's message, which has the name of the missing table.",
        ours="ResourceNotFoundException: Requested resource not found: Table: … not found",
        theirs="ResourceNotFoundException: Cannot do operations on a non-existent table",
        example=(("DescribeTable", {"TableName": "missing"}),),
    ),
    Rejected(
        id="existing-table",
        why="AWS's message for a table that exists already.",
        ours="ResourceInUseException: Table already exists: …",
        theirs="ResourceInUseException: Cannot create preexisting table",
        example=create(PLAIN),
    ),
    Rejected(
        id="table-updates",
        why="AWS's messages for invalid changes.",
        ours=f"{VALIDATION}At least one of ProvisionedThroughput, BillingMode, … is required | "
        f"{VALIDATION}Table has no stream to disable: TableName: … | {INVALID}… | {VALIDATION}Invalid KeySchema: …",
        theirs=f"{VALIDATION}Nothing to update | {VALIDATION}Table has no stream to disable | "
        f"{VALIDATION}Update global secondary index action is null | "
        f"{VALIDATION}No Attribute Schema Defined | {BROKEN}",
        example=update(),
    ),
    Rejected(
        id="endpoints",
        why="DynamoDB Local has no DescribeEndpoints.",
        ours=ANSWERED,
        theirs="UnknownOperationException: …",
        example=(("DescribeEndpoints", {}),),
    ),
    Rejected(
        id="tags",
        why="DynamoDB Local has no tags.",
        ours=f"{ANSWERED} | AccessDeniedException: …",
        theirs="UnknownOperationException: Tagging is not currently supported in DynamoDB Local.",
        example=(("ListTagsOfResource", {"ResourceArn": "arn:aws:dynamodb:local:000000000000:table/plain"}),),
    ),
    Rejected(
        id="stream-arns",
        why="AWS's service model gives the shortest length of a stream's ARN, and of a shard iterator.",
        ours=f"{VALIDATION}… validation error… detected: …",
        theirs="ResourceNotFoundException: …",
        example=(("DescribeStream", {"StreamArn": "x"}),),
    ),
    Answered(
        id="table-descriptions",
        why="A description has the table's id, warm throughput, no times of changes that never happened, and for each "
        "global index all of its throughput. A table that is being dropped is DELETING.",
        local="Leaves these out, shows 1970 for what never happened, and a dropped table as ACTIVE.",
        corrected=corrections.table_descriptions,
        example=(("DescribeTable", {"TableName": "plain"}),),
    ),
    Answered(
        id="dropped-indexes",
        why="An index is gone as soon as UpdateTable has answered. This differs from AWS, where it stays for a while.",
        local="Shows it as DELETING in the answer, as AWS does.",
        corrected=corrections.dropped_indexes,
        example=update(GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "by_kind"}}]),
    ),
)

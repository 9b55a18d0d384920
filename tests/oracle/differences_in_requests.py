"""Differences in requests, before their expressions: rejected on one side only, or with another message."""

from __future__ import annotations

from typing import Any, Final

from tests.oracle.difference import ANSWERED, Detected, Difference, Rejected, Request

KEY: Final = {"pk": {"S": "x"}}
ORDER: Final = {"pk": {"S": "x"}, "sk": {"S": "y"}}
VALIDATION: Final = "ValidationException: "
INVALID: Final = f"{VALIDATION}One or more parameter values were invalid: "
BROKEN: Final = "InternalFailure: The request processing has failed because of an unknown error, exception or failure."


def put(value: Any) -> tuple[Request]:
    return (("PutItem", {"TableName": "plain", "Item": KEY | {"a": value}}),)


def get(**members: Any) -> tuple[Request]:
    return (("GetItem", {"TableName": "plain", "Key": KEY} | members),)


DIFFERENCES: Final[tuple[Difference, ...]] = (
    Detected(
        id="detected",
        why="What is invalid whatever the table holds, in a write of one item, and what a Query cannot select, AWS "
        "reports as it does violations of its service model.",
        operations=frozenset({"DeleteItem", "PutItem", "Query", "UpdateItem"}),
        example=put({"SS": []}),
    ),
    Rejected(
        id="sets-in-values",
        why="In a write of one item, AWS does not say where among the values of an expression an invalid set is.",
        ours=f"{INVALID}An … set  may not be empty | {INVALID}Binary sets should not be empty | "
        f"{INVALID}Null attribute value types must have the value of true | "
        f"{INVALID}Input collection …contains duplicates… | {VALIDATION}Input collection contains duplicates",
        theirs=f"{VALIDATION}ExpressionAttributeValues contains invalid value: …",
        example=(
            (
                "UpdateItem",
                {
                    "TableName": "plain",
                    "Key": KEY,
                    "UpdateExpression": "SET a = :a",
                    "ExpressionAttributeValues": {":a": {"SS": []}},
                },
            ),
        ),
    ),
    Rejected(
        id="batch-keys",
        why="AWS has one message for every item of a batch whose key is not the table's.",
        ours=f"{VALIDATION}The provided key element does not match the schema",
        theirs=f"{INVALID}Type mismatch for key | {VALIDATION}One of the required keys was not given a value | "
        f"{VALIDATION}Invalid attribute value type",
        example=(("BatchWriteItem", {"RequestItems": {"plain": [{"PutRequest": {"Item": {"a": {"S": "x"}}}}]}}),),
    ),
    Rejected(
        id="list-indexes",
        why="AWS accepts indexes of lists up to 4294967294.",
        ours=f"{VALIDATION}The document path provided in the update expression is invalid for update | {ANSWERED}",
        theirs=f"{VALIDATION}Invalid …Expression: List index is not within the allowable range; index: …",
        example=get(ProjectionExpression="a[4294967294]"),
    ),
    Rejected(
        id="serialization",
        why="AWS rejects JSON of a wrong type and names the type; DynamoDB Local converts it, or fails.",
        ours="SerializationException: …",
        theirs=f"{ANSWERED} | {BROKEN} | {VALIDATION}…",
        example=put({"N": 5}),
    ),
    Rejected(
        id="request-model",
        why="AWS validates a request by its service model and reports all errors; DynamoDB Local reports some of them, "
        "each in its own words.",
        ours=f"{VALIDATION}… validation error… detected: Value … | {VALIDATION}The … parameter is required for …",
        theirs=f"{VALIDATION}… | {BROKEN} | {ANSWERED}",
        example=get(ReturnConsumedCapacity="SOME"),
    ),
    Rejected(
        id="missing-table",
        why="AWS's message for a missing table.",
        ours="ResourceNotFoundException: Requested resource not found",
        theirs="ResourceNotFoundException: Cannot do operations on a non-existent table",
        example=get(TableName="missing"),
    ),
    Rejected(
        id="not-a-number",
        why="AWS's message, which quotes the invalid number.",
        ours=f"{VALIDATION}…The parameter cannot be converted to a numeric value…",
        theirs=f"{VALIDATION}…A value provided cannot be converted into a number…",
        example=put({"N": "x"}),
    ),
    Rejected(
        id="other-digits",
        why="A number has ASCII digits; DynamoDB Local, like Java, also accepts the digits of other scripts.",
        ours=f"{VALIDATION}…The parameter cannot be converted to a numeric value: ١…",
        theirs=ANSWERED,
        example=put({"N": "١"}),
    ),
    Rejected(
        id="number-digits",
        why="AWS's message for a number of more than 38 digits.",
        ours=f"{VALIDATION}…Attempting to store more than 38 significant digits in a Number…",
        theirs=f"{VALIDATION}…DynamoDB only supports precision up to 38 digits…",
        example=put({"N": "1" * 39}),
    ),
    Rejected(
        id="overflowing-sums",
        why="AWS says that a sum is too large before it says that it has too many digits.",
        ours=f"{VALIDATION}Number overflow. …",
        theirs=f"{VALIDATION}DynamoDB only supports precision up to 38 digits",
        example=(
            ("PutItem", {"TableName": "plain", "Item": KEY | {"a": {"N": f"9.{'9' * 37}E+125"}}}),
            (
                "UpdateItem",
                {
                    "TableName": "plain",
                    "Key": KEY,
                    "UpdateExpression": "ADD a :v",
                    "ExpressionAttributeValues": {":v": {"N": "1E+125"}},
                },
            ),
        ),
    ),
    Rejected(
        id="set-duplicates",
        why="AWS's message, which quotes the set and ends in a full stop.",
        ours=f"{VALIDATION}…Input collection […]…contains duplicates.…",
        theirs=f"{VALIDATION}…Input collection […] contains duplicates… | "
        f"{VALIDATION}…Input collection of type BS contains duplicates.…",
        example=put({"SS": ["a", "a"]}),
    ),
    Rejected(
        id="return-values",
        why="AWS's message for ReturnValues that an operation does not support.",
        ours=f"{VALIDATION}ReturnValues can only be ALL_OLD or NONE",
        theirs=f"{VALIDATION}Return values set to invalid value",
        example=(("PutItem", {"TableName": "plain", "Item": KEY, "ReturnValues": "ALL_NEW"}),),
    ),
    Rejected(
        id="empty-update-returns",
        why="An update without actions may ask for the updated attributes; DynamoDB Local fails.",
        ours=ANSWERED,
        theirs=BROKEN,
        example=(
            ("PutItem", {"TableName": "plain", "Item": KEY}),
            ("UpdateItem", {"TableName": "plain", "Key": KEY, "ReturnValues": "UPDATED_OLD"}),
        ),
    ),
    Rejected(
        id="key-schema",
        why="AWS has one message for every `Key` whose attributes or types are not the table's.",
        ours=f"{VALIDATION}The provided key element does not match the schema",
        theirs=f"{VALIDATION}The number of conditions on the keys is invalid | "
        f"{VALIDATION}One of the required keys was not given a value | "
        f"{INVALID}Type mismatch for key | {VALIDATION}Invalid attribute value type",
        example=get(Key=KEY | {"a": {"S": "x"}}),
    ),
    Rejected(
        id="item-lacks-key",
        why="AWS names the key attribute that an item lacks.",
        ours=f"{INVALID}Missing the key … in the item",
        theirs=f"{VALIDATION}One of the required keys was not given a value",
        example=(("PutItem", {"TableName": "plain", "Item": {"a": {"S": "x"}}}),),
    ),
    Rejected(
        id="key-length",
        why="AWS's message has the key that is too long.",
        ours=f"{INVALID}Size of hashkey has exceeded the maximum size limit of2048 bytes | "
        f"{INVALID}Aggregated size of all range keys has exceeded the size limit of 1024 bytes",
        theirs=f"{VALIDATION}Hash primary key values must be under 2048 bytes, "
        "and range primary key values must be under 1024 bytes",
        example=(("PutItem", {"TableName": "plain", "Item": {"pk": {"S": "x" * 2049}}}),),
    ),
    Rejected(
        id="key-type",
        why="AWS's message has the key attribute and its wrong type.",
        ours=f"{INVALID}Type mismatch for key … expected: … actual: …",
        theirs=f"{INVALID}Type mismatch for key | {VALIDATION}Invalid attribute value type",
        example=(("PutItem", {"TableName": "plain", "Item": {"pk": {"N": "1"}}}),),
    ),
    Rejected(
        id="index-key-type",
        why="AWS's message has the attribute that does not have the type of the index.",
        ours=f"{INVALID}Type mismatch for Index Key … Expected: … Actual: … IndexName: …",
        theirs=f"{INVALID}Type mismatch for Index Key | {VALIDATION}Invalid attribute value type",
        example=(("PutItem", {"TableName": "orders", "Item": ORDER | {"n": {"S": "x"}}}),),
    ),
    Rejected(
        id="index-key-updates",
        why="An update, like a put, may not write an invalid index key; DynamoDB Local rejects empty values only.",
        ours=f"{VALIDATION}The update expression attempted to update the secondary index key to unsupported type | "
        f"{VALIDATION}The update expression attempted to update the secondary index key beyond allowed size limits",
        theirs=f"{ANSWERED} | {VALIDATION}Invalid attribute value type | "
        f"{VALIDATION}…attempted to update a secondary index key to a value that is not supported…",
        example=(
            (
                "UpdateItem",
                {
                    "TableName": "orders",
                    "Key": ORDER,
                    "UpdateExpression": "SET n = :v",
                    "ExpressionAttributeValues": {":v": {"S": "x"}},
                },
            ),
        ),
    ),
    Rejected(
        id="index-key-length",
        why="AWS's message has the attribute that is too long for its index.",
        ours=f"{INVALID}Size limit exceeded for Index Key … Actual Size: … Max Size: … IndexName: …",
        theirs=f"{INVALID}Size limit exceeded",
        example=(("PutItem", {"TableName": "orders", "Item": ORDER | {"city": {"S": "x" * 2049}}}),),
    ),
    Rejected(
        id="start-key-schema",
        why="AWS's message for an ExclusiveStartKey that is not a key of the table or index.",
        ours=f"{VALIDATION}The provided starting key is invalid…",
        theirs=f"{VALIDATION}Exclusive Start Key must have same size as table's key schema | "
        f"{VALIDATION}The provided starting key is invalid | "
        f"{VALIDATION}Type mismatch for attribute to update | "
        f"{VALIDATION}The query can return at most one row and cannot be restarted. "
        "The provided starting key is invalid…",
        example=(("Scan", {"TableName": "orders", "ExclusiveStartKey": KEY}),),
    ),
    Rejected(
        id="start-key-length",
        why="No row can have a longer key than AWS allows, so no page can start there; DynamoDB Local does not check.",
        ours=f"{VALIDATION}The provided starting key is invalid: …exceeded…",
        theirs=ANSWERED,
        example=(("Scan", {"TableName": "plain", "ExclusiveStartKey": {"pk": {"S": "x" * 2049}}}),),
    ),
    Rejected(
        id="cancellation-reasons",
        why="AWS cancels a transaction if one of its actions is invalid, and lists the reasons in order.",
        ours="TransactionCanceledException: …ValidationError…",
        theirs=f"{VALIDATION}… | TransactionCanceledException: …",
        example=(
            (
                "TransactWriteItems",
                {
                    "TransactItems": [
                        {"Update": {"TableName": "plain", "Key": KEY, "UpdateExpression": "SET a = gone"}},
                    ]
                },
            ),
        ),
    ),
    Rejected(
        id="key-conditions",
        why="AWS's message for an operator that a key condition does not support.",
        ours=f"{VALIDATION}Attempted conditional constraint is not an indexable operation | "
        f"{VALIDATION}Query key condition not supported",
        theirs=f"{BROKEN} | {VALIDATION}Only scalar types can be used as … Key values",
        example=(
            (
                "Query",
                {
                    "TableName": "orders",
                    "KeyConditions": {
                        "pk": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "x"}]},
                        "sk": {"ComparisonOperator": "NE", "AttributeValueList": [{"S": "x"}]},
                    },
                },
            ),
        ),
    ),
    Rejected(
        id="attributes-to-get",
        why="AWS's message for a duplicate name in AttributesToGet; DynamoDB Local has it for BatchGetItem only.",
        ours=f"{INVALID}Duplicate value in attribute name: …",
        theirs=f"{VALIDATION}Cannot have two attributes with the same name",
        example=get(AttributesToGet=["a", "a"]),
    ),
    Rejected(
        id="token-mismatch",
        why="DynamoDB Local's message is empty, but that of ExecuteTransaction.",
        ours="IdempotentParameterMismatchException: Specified idempotent token was used with different …",
        theirs="IdempotentParameterMismatchException: ",
        example=tuple(
            (
                "TransactWriteItems",
                {
                    "TransactItems": [{"Put": {"TableName": "plain", "Item": {"pk": {"S": name}}}}],
                    "ClientRequestToken": "t",
                },
            )
            for name in "ab"
        ),
    ),
)

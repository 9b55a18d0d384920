"""Vector indexes of CreateTable, UpdateTable and DescribeTable, and what writes must satisfy."""

from __future__ import annotations

from typing import Any

import pytest

from sortkey.engine.database import Database
from sortkey.engine.janitor import backfill
from tests.engine.conftest import Call, ExpectError
from tests.engine.operations.table_shapes import INVALID, UNITS, attributes, index, key_schema
from tests.engine.vector_samples import create_dishes, dish, names, put, search, vector, vector_index

HASHED = ("kind", "HASH")
FILTERED = ("hot", "INLINE_FILTER")
WRITE = "One or more parameter values were invalid. "


def described(call: Call) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = call("DescribeTable", TableName="dishes")["Table"].get("VectorIndexes", [])
    return found


def test_is_described_with_its_counts(call: Call) -> None:
    projection = {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["note"]}
    create_dishes(call, vector_index("by_taste", HASHED, FILTERED, Projection=projection), kind="S", hot="N")
    put(call, dish("a", 1, 0, 0, kind={"S": "soup"}), dish("b", kind={"S": "soup"}))
    assert described(call) == [
        {
            "IndexName": "by_taste",
            "VectorAttribute": {"AttributeName": "taste"},
            "SearchSchema": [
                {"AttributeName": "kind", "SearchSchemaElementType": "HASH"},
                {"AttributeName": "hot", "SearchSchemaElementType": "INLINE_FILTER"},
            ],
            "Projection": projection,
            "Dimensions": 3,
            "DistanceFunction": "COSINE",
            "IndexStatus": "ACTIVE",
            # The vector's name and four bytes a dimension, then the projected attributes.
            "IndexSizeBytes": 5 + 12 + 3 + 8,
            "ItemCount": 1,
            "IndexArn": "arn:aws:dynamodb:local:000000000000:table/dishes/index/by_taste",
        },
    ]


@pytest.mark.parametrize(
    ("indexes", "types", "message"),
    [
        ([], {}, "List of VectorIndexes is empty"),
        (
            [vector_index("by_taste", HASHED)],
            {},
            "One element in SearchSchema is not defined in attribute definitions",
        ),
        (
            [vector_index(f"index{number}") for number in range(6)],
            {},
            "VectorIndex count exceeds the per-table limit of 5",
        ),
        ([vector_index(Dimensions=4097)], {}, "Dimensions must be between 1 and 4096, index: by_taste"),
        ([vector_index(), vector_index()], {}, "Duplicate index name: by_taste"),
        (
            [vector_index(), vector_index("other", Dimensions=4)],
            {},
            "Vector indexes on the same attribute must use the same number of dimensions: taste",
        ),
        (
            [vector_index("by_taste", HASHED, ("hot", "HASH"))],
            {"kind": "S", "hot": "N"},
            "SearchSchema may have at most one HASH element, index: by_taste",
        ),
        (
            [vector_index("by_taste", HASHED, ("kind", "INLINE_FILTER"))],
            {"kind": "S"},
            "An attribute may be in SearchSchema only once, index: by_taste",
        ),
        (
            [vector_index("by_taste", *((f"f{number}", "INLINE_FILTER") for number in range(19)))],
            {f"f{number}": "S" for number in range(19)},
            "Number of INLINE_FILTER elements exceeds the limit of 18, index: by_taste",
        ),
        (
            [
                vector_index(
                    Projection={"ProjectionType": "INCLUDE", "NonKeyAttributes": [f"n{number}" for number in range(20)]}
                )
            ],
            {},
            "Number of NonKeyAttributes, with the vector attribute and the inline filters, exceeds the limit of 20, "
            "index: by_taste",
        ),
        (
            [vector_index(VectorAttribute={"AttributeName": "id"})],
            {},
            "Conflicting attribute definition for 'id'. An attribute cannot be defined in AttributeDefinitions when "
            "used as a VectorAttribute.",
        ),
        (
            [vector_index()],
            {"unused": "S"},
            "Number of attributes in KeySchema does not exactly match number of attributes defined in "
            "AttributeDefinitions",
        ),
    ],
)
def test_wrong_definitions(
    call: Call, expect_error: ExpectError, indexes: list[Any], types: dict[str, str], message: str
) -> None:
    with expect_error("ValidationException", INVALID + message):
        create_dishes(call, *indexes, **types)


def test_needs_an_on_demand_table(call: Call, expect_error: ExpectError) -> None:
    message = INVALID + "Vector indexes are only supported for PAY_PER_REQUEST tables"
    members: dict[str, Any] = {"KeySchema": key_schema("id"), "AttributeDefinitions": attributes(id="S")}
    with expect_error("ValidationException", message):
        call(
            "CreateTable",
            TableName="dishes",
            **members,
            ProvisionedThroughput=UNITS,
            VectorIndexes=[vector_index()],
        )
    create_dishes(call, vector_index())
    with expect_error("ValidationException", message):
        call("UpdateTable", TableName="dishes", BillingMode="PROVISIONED", ProvisionedThroughput=UNITS)


def test_the_model_bounds_are_checked(call: Call, expect_error: ExpectError) -> None:
    with expect_error(
        "ValidationException",
        "2 validation errors detected: Value '0' at 'vectorIndexes.1.member.dimensions' failed to satisfy constraint: "
        "Member must have value greater than or equal to 1; Value 'NEAR' at 'vectorIndexes.1.member.distanceFunction' "
        "failed to satisfy constraint: Member must satisfy enum value set: [COSINE, DOT_PRODUCT, EUCLIDEAN]",
    ):
        create_dishes(call, vector_index(Dimensions=0, DistanceFunction="NEAR"))


@pytest.mark.parametrize(
    ("taste", "message"),
    [
        (vector(1, 2), "Invalid size for parameter taste, Expected: 3, Actual: 2 IndexName: by_taste"),
        (
            {"NS": ["1", "2", "3"]},
            "Invalid type for parameter taste, Expected: 32-bit floating point number list IndexName: by_taste",
        ),
        (
            {"L": [{"N": "1"}, {"S": "2"}, {"N": "3"}]},
            "Invalid type for parameter taste[1], Expected: 32-bit floating point number, Actual: S. "
            "IndexName: by_taste",
        ),
        (
            {"L": [{"N": "1"}, {"N": "2"}, {"N": "-4e38"}]},
            "Invalid value for parameter taste[2], Value: -400000000000000000000000000000000000000 is outside valid "
            "range [-3.4028235E38, 3.4028235E38]. IndexName: by_taste",
        ),
    ],
)
def test_no_write_may_store_an_invalid_vector(
    call: Call, expect_error: ExpectError, taste: dict[str, Any], message: str
) -> None:
    create_dishes(call, vector_index())
    item = dish("a") | {"taste": taste}
    update = {
        "TableName": "dishes",
        "Key": {"id": {"S": "a"}},
        "UpdateExpression": "SET taste = :t",
        "ExpressionAttributeValues": {":t": taste},
    }
    with expect_error("ValidationException", WRITE + message):
        call("PutItem", TableName="dishes", Item=item)
    with expect_error("ValidationException", WRITE + message):
        call("UpdateItem", **update)
    with expect_error("ValidationException", WRITE + message):
        call("BatchWriteItem", RequestItems={"dishes": [{"PutRequest": {"Item": item}}]})
    with expect_error("TransactionCanceledException") as caught:
        call("TransactWriteItems", TransactItems=[{"Update": update}])
    assert caught.value.members["CancellationReasons"][0]["Message"] == WRITE + message


def test_attributes_of_the_search_schema_have_their_types(call: Call, expect_error: ExpectError) -> None:
    create_dishes(call, vector_index("by_taste", HASHED, FILTERED), kind="S", hot="N")
    message = WRITE + "Attribute '{}' type mismatch. Expected: {}, Actual: {}. IndexName: by_taste"
    with expect_error("ValidationException", message.format("kind", "S", "N")):
        put(call, dish("a", 1, 0, 0, kind={"N": "1"}))
    with expect_error("ValidationException", message.format("hot", "N", "BOOL")):
        put(call, dish("a", kind={"S": "soup"}, hot={"BOOL": True}))
    with expect_error(
        "ValidationException",
        "One or more parameter values are not valid. A value specified for a secondary index key is not supported. "
        "The AttributeValue for a key attribute cannot contain an empty string value. IndexName: by_taste, "
        "IndexKey: kind",
    ):
        put(call, dish("a", 1, 0, 0, kind={"S": ""}))
    put(call, dish("a", 1, 0, 0, kind={"S": "soup"}), dish("b", 1, 0, 0), dish("c", hot={"N": "1"}))
    assert described(call)[0]["ItemCount"] == 1


def test_writes_report_the_bytes_of_each_index(call: Call) -> None:
    create_dishes(call, vector_index(), vector_index("keys", Projection={"ProjectionType": "KEYS_ONLY"}))

    def written(item: dict[str, Any], detail: str = "INDEXES") -> Any:
        answer = call("PutItem", TableName="dishes", Item=item, ReturnConsumedCapacity=detail)
        return answer["ConsumedCapacity"].get("VectorIndexes")

    least = {"VectorWriteRequestBytes": 1024.0}
    assert written(dish("a", 1, 0, 0)) == {"by_taste": least, "keys": least}
    assert written(dish("a", 1, 0, 0)) is None
    assert written(dish("a", 1, 0, 0, note={"S": "x"})) == {"by_taste": least}
    long = {"VectorWriteRequestBytes": 3.0 + 17 + 4 + 3000}
    assert written(dish("a", 1, 0, 0, note={"S": "x" * 3000})) == {"by_taste": long}
    assert written(dish("b")) is None
    assert written(dish("b", 0, 1, 0), "TOTAL") is None
    batch = call(
        "BatchWriteItem",
        RequestItems={"dishes": [{"PutRequest": {"Item": dish(name, 1, 1, 1)}} for name in "cd"]},
        ReturnConsumedCapacity="INDEXES",
    )
    assert batch["ConsumedCapacity"][0]["VectorIndexes"]["keys"] == {"VectorWriteRequestBytes": 2048.0}


def test_an_update_checks_only_what_it_changes(call: Call, db: Database) -> None:
    call(
        "CreateTable",
        TableName="dishes",
        KeySchema=key_schema("id"),
        AttributeDefinitions=attributes(id="S"),
        BillingMode="PAY_PER_REQUEST",
    )
    put(call, dish("short", 1), dish("good", 1, 0, 0), dish("none"), dish("odd") | {"taste": {"S": "sour"}})
    call("UpdateTable", TableName="dishes", VectorIndexUpdates=[{"Create": vector_index()}])
    db.janitor.sweep()
    assert names(search(call, 1, 0, 0)) == ["good"]
    call(
        "UpdateItem",
        TableName="dishes",
        Key={"id": {"S": "short"}},
        UpdateExpression="SET note = :n",
        ExpressionAttributeValues={":n": {"S": "x"}},
    )
    assert names(search(call, 1, 0, 0)) == ["good"]


def test_backfill_goes_on_while_items_change(call: Call, db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backfill, "CHUNK_ROWS", 5)
    create_dishes(call, vector_index("first"))
    put(call, *(dish(f"{number}", 1, number, 0) for number in range(20)))
    call("UpdateTable", TableName="dishes", VectorIndexUpdates=[{"Create": vector_index()}])
    steps = backfill.fill_indexes(db)
    next(steps)
    assert [(each["IndexStatus"], each.get("Backfilling")) for each in described(call)] == [
        ("ACTIVE", None),
        ("CREATING", True),
    ]
    for number in range(0, 20, 2):
        put(call, dish(f"{number}", 0, 0, 1))
        call("DeleteItem", TableName="dishes", Key={"id": {"S": f"{number + 1}"}})
    assert list(steps)
    assert sorted(search(call, 0, 0, 1, top=20)) == [(f"{number}", 0.0) for number in sorted(range(0, 20, 2), key=str)]


def test_indexes_are_added_and_removed_one_at_a_time(call: Call, db: Database, expect_error: ExpectError) -> None:
    create_dishes(call, vector_index())
    busy = "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"
    second, third = ({"Create": vector_index(name)} for name in ("second", "third"))
    with expect_error("LimitExceededException", busy):
        call("UpdateTable", TableName="dishes", VectorIndexUpdates=[second, third])
    shown = call("UpdateTable", TableName="dishes", VectorIndexUpdates=[second])["TableDescription"]
    assert [each["IndexStatus"] for each in shown["VectorIndexes"]] == ["ACTIVE", "CREATING"]
    with expect_error("LimitExceededException", busy):
        call(
            "UpdateTable",
            TableName="dishes",
            AttributeDefinitions=attributes(kind="S"),
            GlobalSecondaryIndexUpdates=[{"Create": index("by_kind", "kind")}],
        )
    db.janitor.sweep()
    call("UpdateTable", TableName="dishes", VectorIndexUpdates=[{"Delete": {"IndexName": "by_taste"}}])
    assert [each["IndexName"] for each in described(call)] == ["second"]
    db.janitor.sweep()
    with expect_error("ResourceNotFoundException", "Requested resource not found"):
        call("UpdateTable", TableName="dishes", VectorIndexUpdates=[{"Delete": {"IndexName": "by_taste"}}])
    with expect_error("ValidationException", "Attempting to create an index which already exists"):
        call("UpdateTable", TableName="dishes", VectorIndexUpdates=[second])
    with expect_error("ValidationException", INVALID + "A VectorIndexUpdate has exactly one of Create and Delete"):
        call("UpdateTable", TableName="dishes", VectorIndexUpdates=[{}])


def test_an_added_index_is_checked_as_a_first_one(call: Call, expect_error: ExpectError) -> None:
    create_dishes(call, *(vector_index(f"index{number}", HASHED) for number in range(5)), kind="S")

    def add(**members: Any) -> None:
        call("UpdateTable", TableName="dishes", VectorIndexUpdates=[{"Create": vector_index("more", **members)}])

    with expect_error(
        "LimitExceededException",
        "Subscriber limit exceeded: Number of vector secondary indexes exceeds per-table limit of 5",
    ):
        add()
    for number in range(5):
        call("UpdateTable", TableName="dishes", VectorIndexUpdates=[{"Delete": {"IndexName": f"index{number}"}}])
    # The definition went with the last index that used it.
    assert call("DescribeTable", TableName="dishes")["Table"]["AttributeDefinitions"] == attributes(id="S")
    with expect_error(
        "ValidationException", INVALID + "One element in SearchSchema is not defined in attribute definitions"
    ):
        add(SearchSchema=[{"AttributeName": "kind", "SearchSchemaElementType": "HASH"}])
    with expect_error(
        "ValidationException",
        INVALID + "Attributes cannot be redefined. Please check that your attribute has the same type as previously "
        "defined. Existing schema: Schema:[SchemaElement: key{id:S:HASH}] New schema: "
        "VectorIndexSchema:[VectorAttribute: key{id:L:3}]",
    ):
        add(VectorAttribute={"AttributeName": "id"})


def test_items_that_expire_leave_the_index(call: Call, db: Database) -> None:
    create_dishes(call, vector_index())
    call(
        "UpdateTimeToLive",
        TableName="dishes",
        TimeToLiveSpecification={"Enabled": True, "AttributeName": "until"},
    )
    put(call, dish("a", 1, 0, 0, until={"N": str(int(db.clock.now()) - 10)}), dish("b", 0, 1, 0))
    db.janitor.sweep()
    assert names(search(call, 1, 0, 0)) == ["b"]

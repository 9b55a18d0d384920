"""SearchVectors."""

from __future__ import annotations

from typing import Any

import pytest

from sortkey.engine.database import Database
from sortkey.engine.operations import vector_search
from tests.engine.conftest import Call, ExpectError
from tests.engine.operations.table_shapes import attributes
from tests.engine.vector_samples import create_dishes, dish, names, numbers, put, search, vector, vector_index

HASHED = ("kind", "HASH")
FILTERED = ("hot", "INLINE_FILTER")
INVALID = "Invalid SearchConditionExpression: "


# With numpy, and without it.
@pytest.fixture(autouse=True, params=["memory", "rows"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "rows":
        monkeypatch.setattr(vector_search, "_numpy", lambda: None)


def by_kind(kind: str) -> dict[str, Any]:
    return {"SearchConditionExpression": "kind = :k", "ExpressionAttributeValues": {":k": {"S": kind}}}


def test_cosine_ranks_by_direction(call: Call) -> None:
    create_dishes(call, vector_index())
    put(call, dish("opposite", -1, 0, 0), dish("same", 7, 0, 0), dish("right angle", 0, 2, 0), dish("zero", 0, 0, 0))
    found = search(call, 2, 0, 0)
    assert found[0] == ("same", 0.0)
    assert found[-1] == ("opposite", 2.0)
    assert dict(found[1:-1]) == {"right angle": 1.0, "zero": 1.0}


def test_a_search_for_the_zero_vector_finds_all_at_one(call: Call) -> None:
    create_dishes(call, vector_index())
    put(call, dish("a", 1, 2, 3), dish("b", 0, 0, 0))
    assert {score for _, score in search(call, 0, 0, 0)} == {1.0}


def test_euclidean_ranks_by_distance(call: Call) -> None:
    create_dishes(call, vector_index(DistanceFunction="EUCLIDEAN"))
    put(call, dish("far", 10, 0, 0), dish("near", 1, 3, 4), dish("same", 1, 0, 0))
    assert search(call, 1, 0, 0) == [("same", 0.0), ("near", 5.0), ("far", 9.0)]


def test_dot_product_ranks_the_highest_score_first(call: Call) -> None:
    create_dishes(call, vector_index(DistanceFunction="DOT_PRODUCT"))
    put(call, dish("negative", -1, 0, 0), dish("long", 10, 0, 0), dish("short", 1, 0, 0))
    assert search(call, 2, 0, 0) == [("long", 20.0), ("short", 2.0), ("negative", -2.0)]


def test_a_score_beyond_32_bits_is_the_largest(call: Call) -> None:
    create_dishes(call, vector_index(DistanceFunction="DOT_PRODUCT"))
    put(call, dish("huge", 3e38, 3e38, 0), dish("cancelling", 3e38, -3e38, 0), dish("small", 1, 1, 1))
    found = dict(search(call, 1e10, 1e10, 0))
    assert found == {"huge": 3.4028234663852886e38, "cancelling": 0.0, "small": 20000000000.0}


def test_small_components_do_not_vanish(call: Call) -> None:
    create_dishes(call, vector_index())
    put(call, dish("tiny", 1e-30, 0, 0), dish("other", 0, 1e-30, 0))
    assert search(call, 1e-25, 0, 0) == [("tiny", 0.0), ("other", 1.0)]


def test_returns_no_more_than_top_k(call: Call) -> None:
    create_dishes(call, vector_index())
    put(call, *(dish(f"{number}", 1, number, 0) for number in range(20)))
    assert names(search(call, 1, 0, 0, top=3)) == ["0", "1", "2"]
    assert len(search(call, 1, 0, 0, top=100)) == 20


def test_an_empty_index_has_no_results(call: Call) -> None:
    create_dishes(call, vector_index())
    assert search(call, 1, 0, 0) == []


def test_a_search_sees_every_write_before_it(call: Call) -> None:
    create_dishes(call, vector_index())
    put(call, dish("a", 1, 0, 0), dish("b", 0, 1, 0))
    assert names(search(call, 1, 0, 0)) == ["a", "b"]
    put(call, dish("a", -1, 0, 0))
    assert names(search(call, 1, 0, 0)) == ["b", "a"]
    call("DeleteItem", TableName="dishes", Key={"id": {"S": "b"}})
    assert names(search(call, 1, 0, 0)) == ["a"]
    call(
        "UpdateItem",
        TableName="dishes",
        Key={"id": {"S": "a"}},
        UpdateExpression="SET taste[0] = :one, note = :one",
        ExpressionAttributeValues={":one": {"N": "1"}},
    )
    assert search(call, 1, 0, 0) == [("a", 0.0)]
    call("UpdateItem", TableName="dishes", Key={"id": {"S": "a"}}, UpdateExpression="REMOVE taste")
    assert search(call, 1, 0, 0) == []


def test_a_hash_attribute_scopes_the_search(call: Call) -> None:
    create_dishes(call, vector_index("by_taste", HASHED), kind="S")
    put(call, dish("a", 1, 0, 0, kind={"S": "soup"}), dish("b", 1, 0, 0, kind={"S": "cake"}), dish("c", 1, 0, 0))
    assert names(search(call, 1, 0, 0, **by_kind("soup"))) == ["a"]
    assert search(call, 1, 0, 0, **by_kind("tea")) == []


def test_an_item_leaves_and_enters_a_partition(call: Call) -> None:
    create_dishes(call, vector_index("by_taste", HASHED), kind="S")
    put(call, dish("a", 1, 0, 0, kind={"S": "soup"}))
    put(call, dish("a", 1, 0, 0, kind={"S": "cake"}))
    assert search(call, 1, 0, 0, **by_kind("soup")) == []
    assert names(search(call, 1, 0, 0, **by_kind("cake"))) == ["a"]
    call("UpdateItem", TableName="dishes", Key={"id": {"S": "a"}}, UpdateExpression="REMOVE kind")
    assert search(call, 1, 0, 0, **by_kind("cake")) == []


def test_an_inline_filter_is_optional_and_filters_before_the_best_are_chosen(call: Call) -> None:
    create_dishes(call, vector_index("by_taste", FILTERED), hot="N")
    put(call, *(dish(f"cold {number}", 1, 0, 0, hot={"N": "0"}) for number in range(5)))
    put(call, dish("warm", 0, 1, 0, hot={"N": "1.0"}), dish("unknown", 1, 0, 0))
    condition: dict[str, Any] = {"SearchConditionExpression": ":h = #h", "ExpressionAttributeNames": {"#h": "hot"}}
    found = search(call, 1, 0, 0, top=1, **condition, ExpressionAttributeValues={":h": {"N": "1"}})
    assert names(found) == ["warm"]
    assert len(search(call, 1, 0, 0)) == 7
    assert search(call, 1, 0, 0, **condition, ExpressionAttributeValues={":h": {"N": "2"}}) == []


def test_results_leave_out_the_vector_unless_it_is_named(call: Call) -> None:
    create_dishes(call, vector_index())
    put(call, dish("a", 0.1, 1e-7, -3, note={"S": "x"}))
    request = {"TableName": "dishes", "IndexName": "by_taste", "SearchVector": numbers(1, 0, 0), "TopK": 1}
    (found,) = call("SearchVectors", **request)["SearchResults"]
    assert found["Item"] == {"id": {"S": "a"}, "note": {"S": "x"}}
    (found,) = call("SearchVectors", **request, ProjectionExpression="taste, absent")["SearchResults"]
    assert found["Item"] == {"taste": {"L": [{"N": "0.1"}, {"N": "0.0000001"}, {"N": "-3"}]}}


def test_a_returned_vector_has_the_precision_of_32_bits(call: Call) -> None:
    create_dishes(call, vector_index())
    put(call, {"id": {"S": "a"}, "taste": {"L": [{"N": "0.12345678901234567"}, {"N": "0"}, {"N": "16777217"}]}})
    request = {"TableName": "dishes", "IndexName": "by_taste", "SearchVector": numbers(1, 0, 0), "TopK": 1}
    (found,) = call("SearchVectors", **request, ProjectionExpression="taste")["SearchResults"]
    assert found["Item"]["taste"]["L"] == [{"N": "0.12345679"}, {"N": "0"}, {"N": "16777216"}]
    stored = call("GetItem", TableName="dishes", Key={"id": {"S": "a"}})["Item"]["taste"]["L"]
    assert stored[0] == {"N": "0.12345678901234567"}


@pytest.mark.parametrize(
    ("projection", "shown"),
    [
        ({"ProjectionType": "KEYS_ONLY"}, {"id", "kind", "hot"}),
        ({"ProjectionType": "INCLUDE", "NonKeyAttributes": ["note"]}, {"id", "kind", "hot", "note"}),
        ({"ProjectionType": "ALL"}, {"id", "kind", "hot", "note", "more"}),
    ],
)
def test_the_projection_has_keys_and_search_schema(call: Call, projection: dict[str, Any], shown: set[str]) -> None:
    create_dishes(call, vector_index("by_taste", HASHED, FILTERED, Projection=projection), kind="S", hot="N")
    put(call, dish("a", 1, 0, 0, kind={"S": "soup"}, hot={"N": "1"}, note={"S": "x"}, more={"B": "AAEC"}))
    request = {"TableName": "dishes", "IndexName": "by_taste", "SearchVector": numbers(1, 0, 0), "TopK": 1}
    (found,) = call("SearchVectors", **request, **by_kind("soup"))["SearchResults"]
    assert found["Item"].keys() == shown


def test_consumed_capacity_is_in_bytes(call: Call) -> None:
    create_dishes(call, vector_index())
    put(call, dish("a", 1, 0, 0))
    request = {"TableName": "dishes", "IndexName": "by_taste", "SearchVector": numbers(1, 0, 0), "TopK": 1}
    answer = call("SearchVectors", **request, ReturnConsumedCapacity="INDEXES")
    assert answer["ConsumedCapacity"] == {"VectorSearchRequestBytes": 1024.0}
    put(call, dish("a", 1, 0, 0, note={"S": "x" * 2000}))
    answer = call("SearchVectors", **request, ReturnConsumedCapacity="TOTAL")
    assert answer["ConsumedCapacity"]["VectorSearchRequestBytes"] > 2000
    assert "ConsumedCapacity" not in call("SearchVectors", **request)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (
            {"TopK": 101},
            "Provided TopK value '101' is out of valid range. The value must be between 1 and 100 inclusive",
        ),
        (
            {"TopK": 0},
            "1 validation error detected: Value at 'TopK' failed to satisfy constraint: "
            "Member must have value greater than or equal to 1",
        ),
        (
            {"IndexName": "x"},
            "1 validation error detected: Value at 'IndexName' failed to satisfy constraint: "
            "Member must have length greater than or equal to 3",
        ),
        (
            {"SearchVector": []},
            "1 validation error detected: Value at 'SearchVector' failed to satisfy constraint: "
            "Member must have length greater than or equal to 1",
        ),
        ({"IndexName": "other"}, "The table does not have the specified index: other"),
        ({"SearchVector": numbers(1, 2)}, "Input search vector dimension 2 does not match vector index dimension 3"),
        (
            {"SearchVector": [vector(1, 2, 3)]},
            "Search vector contains invalid values. All values in the search vector must be a 32-bit floating-point "
            "number attribute",
        ),
        (
            {"SearchVector": [{"N": "1e39"}, {"N": "1"}, {"N": "1"}]},
            "Search vector contains invalid values. All values in the search vector must be a 32-bit floating-point "
            "number attribute",
        ),
    ],
)
def test_wrong_requests(call: Call, expect_error: ExpectError, members: dict[str, Any], message: str) -> None:
    create_dishes(call, vector_index())
    with expect_error("ValidationException", message):
        search(call, 1, 2, 3, **members)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (None, "SearchConditionExpression must be provided when SearchSchema has a HASH key"),
        ("hot = :n", "SearchConditionExpression must be provided when SearchSchema has a HASH key"),
        ("kind > :k", f"{INVALID}Invalid comparator used in SearchConditionExpression"),
        ("kind = :k OR hot = :n", f"{INVALID}Invalid comparator used in SearchConditionExpression"),
        ("kind = :k AND hot < :n", f"{INVALID}Invalid comparator used in SearchConditionExpression"),
        (
            "kind = :k AND id = :k",
            "SearchConditionExpression must not contain any attributes that is not in SearchSchema. "
            "Invalid attribute: id",
        ),
        (
            "kind = :k AND hot.x = :n",
            f"{INVALID}SearchConditionExpression cannot have conditions on nested attributes",
        ),
        (
            "kind = :k AND kind = :k",
            f"{INVALID}SearchConditionExpression must only contain one condition per attribute",
        ),
        (
            "kind = :n",
            "Type of 'kind' attribute in SearchConditionExpression (N) does not match type in search schema (S)",
        ),
        (
            "kind = :e",
            "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an "
            "empty string value. Key: kind",
        ),
    ],
)
def test_wrong_conditions(call: Call, expect_error: ExpectError, condition: str | None, message: str) -> None:
    create_dishes(call, vector_index("by_taste", HASHED, FILTERED), kind="S", hot="N")
    values = {":k": {"S": "soup"}, ":n": {"N": "1"}, ":e": {"S": ""}}
    used = {name: value for name, value in values.items() if name in (condition or "")}
    members: dict[str, Any] = (
        {} if condition is None else {"SearchConditionExpression": condition, "ExpressionAttributeValues": used}
    )
    with expect_error("ValidationException", message):
        search(call, 1, 2, 3, **members)


def test_placeholders_must_be_used(call: Call, expect_error: ExpectError) -> None:
    create_dishes(call, vector_index())
    with expect_error(
        "ValidationException",
        "ExpressionAttributeValues can only be specified when using expressions: SearchConditionExpression is null",
    ):
        search(call, 1, 2, 3, ExpressionAttributeValues={":x": {"N": "1"}})


def test_a_missing_table(call: Call, expect_error: ExpectError) -> None:
    with expect_error("ResourceNotFoundException", "Requested resource not found"):
        search(call, 1, 2, 3)


def test_an_index_that_is_being_filled_cannot_be_searched(db: Database, call: Call, expect_error: ExpectError) -> None:
    create_dishes(call, vector_index("first"))
    put(call, dish("a", 1, 0, 0), dish("b"))
    call("UpdateTable", TableName="dishes", VectorIndexUpdates=[{"Create": vector_index()}])
    with expect_error("ValidationException", "Cannot search backfilling vector index: by_taste"):
        search(call, 1, 0, 0)
    db.janitor.sweep()
    assert search(call, 1, 0, 0) == [("a", 0.0)]


@pytest.mark.parametrize(("operation", "stop"), [("Query", "."), ("Scan", "")])
def test_only_search_vectors_reads_a_vector_index(
    call: Call, expect_error: ExpectError, operation: str, stop: str
) -> None:
    create_dishes(call, vector_index("by_taste", HASHED), kind="S")
    members: dict[str, Any] = {"TableName": "dishes", "IndexName": "by_taste"}
    if operation == "Query":
        members |= {"KeyConditionExpression": "kind = :k", "ExpressionAttributeValues": {":k": {"S": "soup"}}}
    with expect_error("ValidationException", f"{operation} operation not supported on this index type{stop}"):
        call(operation, **members)


def test_an_index_that_was_made_again_has_nothing_of_the_earlier_one(db: Database, call: Call) -> None:
    create_dishes(call, vector_index())
    put(call, dish("a", 1, 0, 0))
    assert names(search(call, 1, 0, 0)) == ["a"]
    call("DeleteTable", TableName="dishes")
    create_dishes(call, vector_index(), vector_index("other"))
    assert search(call, 1, 0, 0) == []
    assert len(db.vector_memories) <= 1


def test_an_attribute_definition_may_serve_key_and_schema(call: Call) -> None:
    shown = create_dishes(call, vector_index("by_taste", ("id", "HASH")))
    assert shown["AttributeDefinitions"] == attributes(id="S")
    put(call, dish("a", 1, 0, 0))
    condition: dict[str, Any] = {
        "SearchConditionExpression": "id = :i",
        "ExpressionAttributeValues": {":i": {"S": "a"}},
    }
    assert names(search(call, 1, 0, 0, **condition)) == ["a"]

"""`ConsumedCapacity` and `ItemCollectionMetrics`, in the detail that the request asks for."""

from __future__ import annotations

import pytest

from sortkey.engine.operations import answers
from sortkey.engine.operations.answers import Consumed, is_requested
from sortkey.engine.rows.catalog_entries import IndexEntry, TableEntry
from sortkey.engine.tables.table import Table
from tests.engine.conftest import Call
from tests.engine.samples import create, index, n, s


def an_index(name: str, space: int, local: bool) -> IndexEntry:
    return IndexEntry(name=name, space=space, local=local, partition="id", sort=None, projection="ALL")


@pytest.fixture
def consumed() -> Consumed:
    """Two writes to a table and its indexes."""
    entry = TableEntry(
        name="table",
        space=16,
        id="",
        created=0,
        attributes={"id": "S"},
        partition="id",
        sort=None,
        indexes=[an_index("near", 17, local=True), an_index("far", 18, local=False)],
    )
    total = Consumed(Table(entry), 1.0, {"far": 2.0})
    total.add(2.0, {"far": 1.0, "near": 1.0})
    return total


def test_total_includes_the_indexes(consumed: Consumed) -> None:
    assert consumed.shape("TOTAL") == {"TableName": "table", "CapacityUnits": 7.0}


def test_indexes_are_local_or_global(consumed: Consumed) -> None:
    assert consumed.shape("INDEXES") == {
        "TableName": "table",
        "CapacityUnits": 7.0,
        "Table": {"CapacityUnits": 3.0},
        "LocalSecondaryIndexes": {"near": {"CapacityUnits": 1.0}},
        "GlobalSecondaryIndexes": {"far": {"CapacityUnits": 3.0}},
    }


def test_transactions_give_read_or_write_units(consumed: Consumed) -> None:
    assert consumed.shape("TOTAL", "Write") == {
        "TableName": "table",
        "CapacityUnits": 7.0,
        "WriteCapacityUnits": 7.0,
    }


@pytest.mark.parametrize(("detail", "wanted"), [(None, False), ("NONE", False), ("TOTAL", True), ("INDEXES", True)])
def test_reported_when_requested(detail: str | None, wanted: bool) -> None:
    assert is_requested(detail) is wanted


@pytest.fixture
def partition(call: Call) -> None:
    create(call, "collections", "id:S", "at:N", local=[index("by_v", "id:S", "v:N")])
    for number in range(20):
        call("PutItem", TableName="collections", Item={"id": s("large"), "at": n(number), "v": n(1), "t": s("x" * 100)})


def size_range(call: Call, key: str) -> list[float]:
    answer = call(
        "PutItem", TableName="collections", Item={"id": s(key), "at": n(0)}, ReturnItemCollectionMetrics="SIZE"
    )
    assert answer["ItemCollectionMetrics"]["ItemCollectionKey"] == {"id": s(key)}
    found: list[float] = answer["ItemCollectionMetrics"]["SizeEstimateRangeGB"]
    return found


@pytest.mark.usefixtures("partition")
def test_a_partition_of_a_small_table_has_less_than_a_gigabyte(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> int:
        raise AssertionError("the partition is walked")

    monkeypatch.setattr(answers, "_walked_size", never)
    assert size_range(call, "large") == [0.0, 1.0]


# Walking a partition of ten gigabytes took minutes, in which nobody could write.
@pytest.mark.usefixtures("partition")
@pytest.mark.parametrize(("limit", "value"), [("WALKED_ROWS", 5), ("WALKED_BYTES", 500)])
def test_a_large_partition_has_no_more_than_its_table(
    call: Call, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    monkeypatch.setattr(answers, "GIB", 1000)
    monkeypatch.setattr(answers, limit, value)
    low, high = size_range(call, "large")
    # 20 rows of 110 bytes or so, in the table and in the index.
    assert (low, high) == (0.0, 5.0)


@pytest.mark.usefixtures("partition")
def test_a_small_partition_of_a_large_table_is_measured(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "GIB", 1000)
    assert size_range(call, "small") == [0.0, 1.0]

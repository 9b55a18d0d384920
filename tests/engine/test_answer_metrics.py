"""`ConsumedCapacity`: the units of an operation, in the detail that the request asks for."""

from __future__ import annotations

import pytest

from sortkey.engine.answer_metrics import Consumed, is_requested
from sortkey.engine.tables.catalog_entries import IndexEntry, TableEntry
from sortkey.engine.tables.table import Table


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

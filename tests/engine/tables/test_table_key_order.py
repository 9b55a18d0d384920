"""Items of a local index with equal index keys come in the order of the table's sort key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from sortkey.engine.check.database_check import check_database
from sortkey.engine.database import Database
from tests.engine.conftest import Call
from tests.engine.samples import b, create, index, n, s

ORDERED: dict[str, list[dict[str, Any]]] = {
    "S": [s("a"), s("aa"), s("b"), s("zz"), s("z" * 700 + "a"), s("ä")],
    "N": [n(-20), n(-3), n(0), n("0.5"), n(7), n(10)],
    "B": [b(b"\0"), b(b"\0\0"), b(b"a" * 9), b(b"b"), b(b"\xff")],
}


def put(call: Call, *keys: dict[str, Any]) -> None:
    for key in keys:
        call("PutItem", TableName="tab", Item={"pk": s("p"), "sk": key, "rank": n(1)})


def by_rank(call: Call, **members: Any) -> list[dict[str, Any]]:
    request = {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": s("p")}} | members
    return [item["sk"] for item in call("Query", TableName="tab", IndexName="by_rank", **request)["Items"]]


@pytest.mark.parametrize("key_type", ORDERED)
def test_equal_index_keys_are_ordered_by_the_sort_key(call: Call, key_type: str) -> None:
    create(call, "tab", "pk:S", f"sk:{key_type}", local=[index("by_rank", "pk:S", "rank:N")])
    keys = ORDERED[key_type]
    put(call, *keys[::2], *keys[1::2])
    assert by_rank(call) == keys
    assert by_rank(call, ScanIndexForward=False) == keys[::-1]


def test_pages_go_on_between_equal_keys(call: Call) -> None:
    create(call, "tab", "pk:S", "sk:N", local=[index("by_rank", "pk:S", "rank:N")])
    put(call, *ORDERED["N"])
    start = {"pk": s("p"), "sk": n(0), "rank": n(1)}
    assert by_rank(call, ExclusiveStartKey=start) == ORDERED["N"][3:]
    assert by_rank(call, ExclusiveStartKey=start, ScanIndexForward=False) == ORDERED["N"][1::-1]


# The row key has the beginning of a long sort key. The longest keys fit into LMDB's, and stay distinct.
def test_the_longest_keys(call: Call) -> None:
    create(call, "tab", "pk:S", "sk:B", local=[index("by_rank", "pk:S", "rank:B")])
    longest = [b(b"\xff" * 1023 + bytes([end])) for end in (1, 2)]
    for key in longest:
        call("PutItem", TableName="tab", Item={"pk": s("p" * 2048), "sk": key, "rank": b(b"\xff" * 1024)})
    found = by_rank(call, ExpressionAttributeValues={":p": s("p" * 2048)})
    assert sorted(found, key=str) == longest


# Rows of an index that is older than this order end in the owner alone, and stay where they are.
def test_an_older_index_keeps_its_rows(tmp_path: Path) -> None:
    database = Database.open(tmp_path)

    def call(operation: str, **members: Any) -> dict[str, Any]:
        return database.call(operation, members)

    def make_older(batch: Any) -> dict[str, Any]:
        entry = database.catalog.require(batch.transaction, "tab").entry
        (local,) = entry.indexes
        older = msgspec.structs.replace(local, ordered_by_table_key=False)
        database.catalog.save(batch, msgspec.structs.replace(entry, indexes=[older]))
        return {}

    create(call, "tab", "pk:S", "sk:N", local=[index("by_rank", "pk:S", "rank:N")])
    database.store.write(make_older)
    put(call, *ORDERED["N"])
    database.close()
    database = Database.open(tmp_path)
    call("DeleteItem", TableName="tab", Key={"pk": s("p"), "sk": n(7)})
    put(call, n(8))
    assert len(by_rank(call)) == len(ORDERED["N"])
    assert check_database(database).problems == []
    database.close()

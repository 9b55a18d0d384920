"""The engine's entry point."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from sortkey.engine import requests
from sortkey.engine.database import Database
from sortkey.storage import QueueClosed
from tests.engine.conftest import Call, ExpectError
from tests.engine.samples import create, n, s


def test_unknown_operation(call: Call, expect_error: ExpectError) -> None:
    with expect_error("UnknownOperationException", "An unknown operation was requested."):
        call("NoSuchOperation")


# A rejected request writes nothing, and does not affect the others in its write batch.
def test_rejected_write_leaves_its_neighbours(db: Database, call: Call) -> None:
    create(call, "table", "id:S")
    done: dict[int, BaseException | None] = {}
    finished = threading.Semaphore(0)

    def submit(number: int, condition: str) -> None:
        item = {"id": s(str(number)), "v": n(number)}
        request = requests.convert("PutItem", {"TableName": "table", "Item": item, "ConditionExpression": condition})

        def on_done(_answer: Any, error: BaseException | None) -> None:
            done[number] = error
            finished.release()

        db.submit("PutItem", request, on_done)

    for number in range(20):
        submit(number, "attribute_not_exists(id)" if number % 2 else "attribute_exists(id)")
    for _ in range(20):
        assert finished.acquire(timeout=60)
    assert {number for number, error in done.items() if error is None} == set(range(1, 20, 2))
    assert call("DescribeTable", TableName="table")["Table"]["ItemCount"] == 10


# Threads share a group commit; no write may be lost.
def test_increments_of_many_threads_add_up(db: Database, call: Call) -> None:
    create(call, "table", "id:S")
    request = requests.convert(
        "UpdateItem",
        {
            "TableName": "table",
            "Key": {"id": s("1")},
            "UpdateExpression": "ADD v :one",
            "ExpressionAttributeValues": {":one": n(1)},
        },
    )

    def increment() -> None:
        for _ in range(50):
            db.execute("UpdateItem", request)

    threads = [threading.Thread(target=increment) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert call("GetItem", TableName="table", Key={"id": s("1")})["Item"]["v"] == n(200)


def test_closed_database_rejects_writes() -> None:
    database = Database(None)
    create(lambda operation, **members: database.call(operation, members), "table", "id:S")
    database.close()
    with pytest.raises(QueueClosed):
        database.call("PutItem", {"TableName": "table", "Item": {"id": s("1")}})

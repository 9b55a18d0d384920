"""What is asked of the servers: the same of each, valid, and answered in full."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from benchmarks._workload import (
    INDEXED_DEFINITION,
    STREAM,
    TABLE_DEFINITION,
    WORKLOADS,
    hopeless,
    requests,
    rows_expected,
    rows_in,
)
from benchmarks.engine import TABLE, item
from tests.oracle.embedded import Embedded

SIZE = 200


@pytest.fixture(scope="module")
def answers() -> dict[str, list[tuple[str, dict[str, Any]]]]:
    """The first answers to each workload, from a table that holds what the servers are loaded with."""
    database = Embedded()
    database.call("CreateTable", TABLE_DEFINITION)
    database.call("CreateTable", INDEXED_DEFINITION | STREAM)
    for number in range(SIZE):
        database.call("PutItem", {"TableName": TABLE, "Item": item(number)})
    answers = {
        workload: [
            (request.operation, database.call(request.operation, orjson.loads(request.body)))
            for request in requests(workload, SIZE)[:40]
        ]
        for workload in WORKLOADS
    }
    database.close()
    return answers


# A request that finds nothing is answered faster, and measures nothing.
@pytest.mark.slow
@pytest.mark.parametrize("workload", WORKLOADS)
def test_every_request_finds_its_items(workload: str, answers: dict[str, list[tuple[str, dict[str, Any]]]]) -> None:
    for operation, answer in answers[workload]:
        assert rows_in(answer) == rows_expected(operation)


# A server with easier requests would win.
@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.slow
def test_every_server_is_asked_the_same(workload: str) -> None:
    assert requests(workload, SIZE) == requests(workload, SIZE)


def test_mixed_is_nine_reads_to_a_write() -> None:
    operations = [request.operation for request in requests("mixed 90/10", SIZE)]
    assert set(operations) == {"GetItem", "PutItem"}
    assert operations.count("PutItem") / len(operations) == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize(
    ("done", "elapsed", "given_up"),
    [
        (0.0, 0.1, False),  # a server that warms up gets its time
        (0.0, 0.2, True),
        (0.11, 0.2, False),  # slow, but it may still get faster
        (0.09, 0.2, True),
        (0.99, 1.01, True),
    ],
)
def test_loading_is_given_up_when_it_cannot_end_in_time(done: float, elapsed: float, given_up: bool) -> None:
    assert hopeless(done, elapsed) is given_up


def test_items_are_of_about_200_bytes() -> None:
    assert 150 < len(orjson.dumps(item(5))) < 300

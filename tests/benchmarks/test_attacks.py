"""The attacks: requests that reach the work that they are meant to cause."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks._attacks import ATTACKS, BODY_BYTES, LARGE, TINY, batch_of, key, large_requests, table_definition
from tests.oracle.embedded import Embedded
from tests.oracle.endpoint import OracleError

ROWS = 3


@pytest.fixture(scope="module")
def database() -> Iterator[Embedded]:
    database = Embedded()
    for table in (TINY, LARGE):
        database.call("CreateTable", table_definition(table))
    for request in (batch_of(TINY, [key(name) for name in ("aaaa", "aaab", "aaac")]), *large_requests()):
        database.send(request.operation, request.body)
    yield database
    database.close()


def answer(database: Embedded, attack: str) -> dict[str, Any]:
    request = ATTACKS[attack].make()
    assert len(request.body) <= BODY_BYTES
    return database.send(request.operation, request.body)


# A filter that a row matches early costs less.
@pytest.mark.parametrize(
    ("attack", "found"), [("scan-in", 0), ("scan-comparisons", 0), ("scan", ROWS), ("scan-projection", ROWS)]
)
@pytest.mark.slow
def test_a_scan_evaluates_every_row(database: Embedded, attack: str, found: int) -> None:
    answered = answer(database, attack)
    assert (answered["ScannedCount"], answered["Count"]) == (ROWS, found)


# A page ends at 16 MB; the projection leaves little of each item.
@pytest.mark.slow
def test_a_batch_reads_all_its_items(database: Embedded) -> None:
    answered = answer(database, "batch-get")
    assert len(answered["Responses"][LARGE]) == 100
    assert answered["UnprocessedKeys"] == {}


@pytest.mark.slow
def test_a_transaction_evaluates_all_its_conditions(database: Embedded) -> None:
    with pytest.raises(OracleError) as raised:
        answer(database, "transaction")
    assert [reason["Code"] for reason in raised.value.body["CancellationReasons"]] == ["ConditionalCheckFailed"] * 30


@pytest.mark.slow
@pytest.mark.parametrize("attack", ["batch-write", "dense"])
def test_a_batch_is_valid_and_written(database: Embedded, attack: str) -> None:
    assert answer(database, attack) == {"UnprocessedItems": {}}


# Both are rejected, and what the server has done by then is what counts.
@pytest.mark.slow
@pytest.mark.parametrize("attack", ["update-2", "update-16"])
def test_an_update_is_rejected_for_its_size(database: Embedded, attack: str) -> None:
    with pytest.raises(OracleError, match="size"):
        answer(database, attack)

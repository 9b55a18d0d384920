"""Commits that fail, and slow ones."""

from __future__ import annotations

import errno
import time
from functools import partial
from pathlib import Path

import lmdb
import pytest
from botocore.config import Config

import sortkey as sk
from sortkey.engine import faulty_database
from sortkey.engine.check.database_check import check_database
from tests.client.orders import database_of
from tests.engine.faults.orders import ORDERS, code_of, key, numbers, put
from tests.wire.serving import ServerProcess


def filled(folder: Path) -> Path:
    """A folder with the table, made while the disk was well."""
    with sk.client(folder) as client:
        client.create_table(**ORDERS)
    return folder


def test_a_failed_commit_keeps_nothing_and_raises_what_lmdb_raises(tmp_path: Path) -> None:
    written, errors = set(), set()
    with sk.client(filled(tmp_path), faults=sk.testing.Faults(failing_sync=0.5)) as client:
        for number in range(20):
            try:
                put(client, number)
            except lmdb.Error as error:
                errors.add((error.code, str(error)))
            else:
                written.add(number)
        assert errors == {(errno.EIO, faulty_database.FAILURE)}
        assert numbers(client) == written
        assert 0 < len(written) < 20
        assert check_database(database_of(client)).problems == []
    with sk.client(tmp_path) as client:
        assert numbers(client) == written


@pytest.mark.slow
def test_an_endpoint_answers_with_an_internal_error(tmp_path: Path) -> None:
    process = ServerProcess("--data", filled(tmp_path), "--faults", "failing_sync=1")
    with sk.client(process.url, config=Config(retries={"max_attempts": 0})) as client:
        assert code_of(partial(put, client, 1)) == "InternalServerError"
        assert numbers(client) == set()
    process.kill()


# LMDB syncs only what was written.
def test_a_request_that_writes_nothing_meets_no_failure(tmp_path: Path) -> None:
    with sk.client(filled(tmp_path), faults=sk.testing.Faults(failing_sync=1)) as client:
        absent = partial(
            client.delete_item,
            TableName="orders",
            Key=key(1),
            ConditionExpression="attribute_exists(#n)",
            ExpressionAttributeNames={"#n": "number"},
        )
        assert code_of(absent) == "ConditionalCheckFailedException"


def test_each_commit_with_writes_takes_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    with sk.client("memory:", faults=sk.testing.Faults(slow_sync=0.5)) as client:
        client.create_table(**ORDERS)
        put(client, 1)
        assert numbers(client) == {1}
    assert slept == [0.5, 0.5]


@pytest.mark.parametrize(("name", "message"), [("slow_sync", "must not be negative"), ("failing_sync", "from 0 to 1")])
def test_negative_values_are_rejected(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must .*{message}" if name != "slow_sync" else message):
        sk.testing.Faults.parse(f"{name}=-1")

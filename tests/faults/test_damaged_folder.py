"""What is damaged on the disk is never served: seen from outside, by a server and `sortkey check` on a changed file.

`make flips` flips any bit of a folder; these are the cases that began it, with real commands.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import lmdb
import pytest

from tests.wire.serving import Answer, RawClient, ServerProcess, request

TABLE: dict[str, Any] = {
    "TableName": "harbours",
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("country", "name")],
    "KeySchema": [{"AttributeName": "country", "KeyType": "HASH"}, {"AttributeName": "name", "KeyType": "RANGE"}],
    "BillingMode": "PAY_PER_REQUEST",
}
KEY = {"country": {"S": "Portugal"}, "name": {"S": "needle"}}
ITEM = KEY | {"city": {"S": "Lisbon"}}
KEY_BYTES = bytes(byte + 1 for byte in b"needle")
"""A sort key as it is stored."""
MANY = 40_000
"""Items of 1 KB: more than is checked when a folder is opened."""

pytestmark = pytest.mark.faults


def write(folder: Path, more: int = 0) -> None:
    server = ServerProcess("--data", folder)
    with closing(RawClient(server.url)) as client:
        client.call("CreateTable", **TABLE)
        client.call("PutItem", TableName="harbours", Item=ITEM)
        for start in range(0, more, 25):
            puts = [{"PutRequest": {"Item": filler(number)}} for number in range(start, start + 25)]
            client.call("BatchWriteItem", RequestItems={"harbours": puts})
    server.stop()


def filler(number: int) -> dict[str, Any]:
    return {"country": {"S": f"{number}"}, "name": {"S": "x"}, "text": {"S": "x" * 1000}}


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A large folder in which a record is under a wrong key."""
    folder = tmp_path_factory.mktemp("large") / "data"
    write(folder, MANY)
    exchange(folder, KEY_BYTES, KEY_BYTES[:-1] + bytes([KEY_BYTES[-1] ^ 1]))
    return folder


def exchange(folder: Path, old: bytes, new: bytes) -> None:
    file = folder / "data.mdb"
    content = file.read_bytes()
    assert old in content
    file.write_bytes(content.replace(old, new))


def served(folder: Path, operation: str, members: dict[str, Any]) -> Answer:
    """The answer of a server to one request. It may have written to its log."""
    server = ServerProcess("--data", folder)
    try:
        with closing(RawClient(server.url)) as client:
            client.send(request(operation, members))
            return client.answer()
    finally:
        server.kill()


def run(*command: str) -> tuple[int, str]:
    done = subprocess.run([sys.executable, "-m", "sortkey", *command], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


READS: dict[str, dict[str, Any]] = {
    "GetItem": {"TableName": "harbours", "Key": KEY},
    "BatchGetItem": {"RequestItems": {"harbours": {"Keys": [KEY]}}},
    "Query": {
        "TableName": "harbours",
        "KeyConditionExpression": "country = :c",
        "ExpressionAttributeValues": {":c": {"S": "Portugal"}},
    },
    "Scan": {"TableName": "harbours"},
}


# It was returned as if it had been written.
@pytest.mark.parametrize("operation", READS)
def test_flipped_bit_of_a_string_is_an_error(tmp_path: Path, operation: str) -> None:
    write(tmp_path / "data")
    exchange(tmp_path / "data", b'"Lisbon"', b'"Lisbnn"')
    answer = served(tmp_path / "data", operation, READS[operation])
    assert (answer.status, "table harbours" in answer.json().get("message", "")) == (500, True)


def test_flipped_bit_of_a_string_is_found_by_the_check(tmp_path: Path) -> None:
    write(tmp_path / "data")
    exchange(tmp_path / "data", b'"Lisbon"', b'"Lisbnn"')
    status, output = run("check", str(tmp_path / "data"))
    assert (status, "table harbours" in output) == (1, True)


# The record is there, but a search does not come to it.
@pytest.mark.slow
@pytest.mark.parametrize("operation", ["GetItem", "BatchGetItem", "Query"])
def test_flipped_bit_of_a_key_in_a_large_folder_is_an_error(large: Path, operation: str) -> None:
    answer = served(large, operation, READS[operation])
    assert (answer.status, "is damaged" in answer.json().get("message", "")) == (500, True)


@pytest.mark.slow
def test_flipped_bit_of_a_key_in_a_large_folder_is_found_by_the_check(large: Path) -> None:
    status, output = run("check", str(large))
    assert (status, "is damaged, or its key is" in output) == (1, True)


def empty(file: Path) -> None:
    file.touch()


def foreign(file: Path) -> None:
    with lmdb.open(str(file.parent), lib_version=1) as opened, opened.begin(write=True) as transaction:
        transaction.put(b"theirs", b"")


# The first became a new database, and the second was stamped.
@pytest.mark.parametrize(("make", "problem"), [(empty, "is empty"), (foreign, "not one of Sortkey")])
def test_file_that_is_not_a_database_of_sortkey_is_not_served(
    tmp_path: Path, make: Callable[[Path], None], problem: str
) -> None:
    file = tmp_path / "data.mdb"
    make(file)
    before = file.read_bytes()
    assert problem in output_of_server(tmp_path)
    assert file.read_bytes() == before


def output_of_server(folder: Path) -> str:
    """What a server says that does not start."""
    try:
        server = ServerProcess("--data", folder)
    except AssertionError as not_ready:
        return str(not_ready)
    server.kill()
    return "ready"

"""What a start imports: only what it uses. Importing botocore alone takes longer than starting the engine."""

from __future__ import annotations

import re
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.wire.serving import ServerProcess

pytestmark = pytest.mark.slow

# What only a remote store needs.
REMOTE = {
    *("aiobotocore", "aiohttp", "boto3", "urllib3", "http.client"),
    *("botocore.client", "botocore.loaders", "botocore.model", "botocore.session", "botocore.utils"),
}
# What only a store in the process needs. Requests are typed for both.
IN_PROCESS = {
    *("lmdb", "sortkey.client.embedded", "sortkey.client.prefixed", "sortkey.expressions", "sortkey.storage"),
    *("sortkey.engine.database", "sortkey.engine.rows", "sortkey.engine.tables"),
}
# What belongs to other commands.
APPLICATION = {
    "sortkey.feeds.kafka.worker",
    "confluent_kafka",
    "litestar",
    "rich",
    "uvicorn",
    "sortkey.server",
    "sortkey.services",
}

USE_A_CLIENT = """
import sortkey as sk
with sk.client("memory:") as client:
    client.create_table(
        TableName="things",
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    client.put_item(TableName="things", Item={"pk": {"S": "a"}})
    assert client.get_item(TableName="things", Key={"pk": {"S": "a"}})["Item"] == {"pk": {"S": "a"}}
    try:
        client.put_item(TableName="things", Item={"pk": {"S": "a"}}, ConditionExpression="attribute_not_exists(pk)")
    except client.exceptions.ConditionalCheckFailedException:
        pass
"""
USE_A_SESSION = """
import sortkey as sk
class Thing(sk.Item, table="things"):
    name: str
    key = sk.Key("THING#{name}")
with sk.connect("memory:") as db:
    db.create_tables(Thing)
    db.put(Thing(name="a"), if_absent=True)
    assert db.get(Thing.key(name="a")) == Thing(name="a")
"""


def imported_by(program: str) -> set[str]:
    """Every module that a program of its own imports."""
    telling = f"{program}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", telling], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_package() -> None:
    assert imported_by("import sortkey") & {*REMOTE, *IN_PROCESS, *APPLICATION, "sortkey.model"} == set()


# Creating a table and a failed condition are common too: neither needs botocore's service model.
def test_a_client_in_the_process() -> None:
    assert imported_by(USE_A_CLIENT) & {*REMOTE, *APPLICATION, "sortkey.model"} == set()


def test_a_session_in_the_process() -> None:
    assert imported_by(USE_A_SESSION) & {*REMOTE, *APPLICATION} == set()


# As in a Lambda function, where a cold start is a request that waits.
def test_a_session_on_an_endpoint() -> None:
    server = ServerProcess("--memory")
    needed = imported_by(USE_A_SESSION.replace("memory:", server.url))
    assert server.stop() == 0
    assert needed & {*IN_PROCESS, *APPLICATION, "boto3"} == set()


# Feeds, timers and maintenance answer nobody: only the function `http` needs the server.
def test_lambda_functions() -> None:
    assert imported_by("import sortkey.lambda_functions") & {*REMOTE, *IN_PROCESS, "litestar", "rich"} == set()


# Else the tests above would pass by names that mean nothing.
def test_a_client_in_the_process_needs_what_is_left_out_above() -> None:
    assert IN_PROCESS - imported_by(USE_A_CLIENT.replace("memory:", "memory:?prefix=a-")) == set()


def test_a_remote_client_needs_what_is_left_out_above() -> None:
    needed = imported_by("import sortkey as sk; sk.client('http://127.0.0.1:1').close()")
    assert REMOTE - needed == {"aiobotocore", "aiohttp", "boto3"}


@pytest.mark.parametrize("where", [["--memory"], ["--data", "folder"]])
def test_the_endpoint(tmp_path: Path, where: list[str]) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "sortkey", "db", *where, "--port", "0"]
    log = tmp_path / "log"
    with (
        log.open("w") as imports,
        subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=imports, text=True) as process,
    ):
        assert process.stdout is not None
        try:
            url = process.stdout.readline().split()[1]
            target = {"X-Amz-Target": "DynamoDB_20120810.ListTables"}
            with urllib.request.urlopen(urllib.request.Request(url, b"{}", target)) as answer:
                assert answer.read() == b'{"TableNames":[]}'
        finally:
            process.terminate()
    imported = set(re.findall(r"\| +(\S+)$", log.read_text(), re.MULTILINE))
    assert "sortkey.wire.server" in imported
    assert imported & {*REMOTE, *APPLICATION, "importlib.metadata", "sortkey.model"} == set()

"""The console of `sortkey db`: in one process and in several, with and without keys."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest

from tests.wire.serving import ServerProcess

pytestmark = pytest.mark.slow
HTML = {"Accept": "text/html,*/*"}


@contextmanager
def serving(*arguments: str | Path) -> Iterator[ServerProcess]:
    process = ServerProcess(*arguments)
    try:
        yield process
    finally:
        assert process.stop() == 0


def send(url: str, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> tuple[int, Any]:
    parts = urlsplit(url)
    assert parts.hostname is not None
    client = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    given = {"Content-Type": "application/json"} if body is not None else {}
    client.request(method, path, None if body is None else json.dumps(body), given | (headers or {}))
    response = client.getresponse()
    content = response.read()
    client.close()
    is_json = response.headers.get("content-type", "").startswith("application/json")
    return response.status, json.loads(content) if is_json else content


def make_table(url: str, *, stream: bool = False, **credentials: str) -> None:
    given: Any = {"aws_access_key_id": "a", "aws_secret_access_key": "b", **credentials}
    client = boto3.client("dynamodb", region_name="local", endpoint_url=url, **given)
    client.create_table(
        TableName="things",
        AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
        if stream
        else {"StreamEnabled": False},
    )
    client.put_item(TableName="things", Item={"k": {"S": "a"}})
    client.close()


# Health checks and SDKs ask for no page, so they see what they always saw.
def test_browsers_see_the_page_and_programs_what_they_saw() -> None:
    with serving("--memory") as process:
        assert send(process.url, "GET", "/") == (200, b"healthy: dynamodb.local\n")
        status, page = send(process.url, "GET", "/", headers=HTML)
        assert (status, b"<!doctype html>" in page.lower()) == (200, True)
        assert send(process.url, "GET", "/", headers={**HTML, "Host": "evil.example"})[0] == 403
        make_table(process.url)
        _, tables = send(process.url, "POST", "/console/api/tables", {})
        assert [(each["name"], each["items"], each["declared"]) for each in tables["tables"]] == [("things", 1, False)]
        _, about = send(process.url, "POST", "/console/api/about", {})
        assert (about["command"], about["services"], about["endpoint"]) == ("db", [], process.url)
        assert [name for name, is_there in about["has"].items() if is_there] == ["data", "heat", "changes", "designer"]
        assert send(process.url, "GET", "/") == (200, b"healthy: dynamodb.local\n")


def test_it_can_be_left_out() -> None:
    with serving("--memory", "--no-console") as process:
        assert send(process.url, "GET", "/", headers=HTML) == (200, b"healthy: dynamodb.local\n")
        assert send(process.url, "GET", "/console/api/open")[0] == 404


def test_each_worker_has_it(tmp_path: Path) -> None:
    with serving("--data", tmp_path / "data", "--workers", "2") as process:
        make_table(process.url)
        for _ in range(6):
            status, about = send(process.url, "POST", "/console/api/about", {})
            assert (status, about["process"]["workers"]) == (200, 2)
        _, overview = send(process.url, "POST", "/console/api/overview", {})
        assert overview["of"] == "workers"


# The stream is of the folder, whichever process has written.
def test_the_tail_has_the_changes_of_every_worker(tmp_path: Path) -> None:
    with serving("--data", tmp_path / "data", "--workers", "2") as process:
        make_table(process.url, stream=True)
        wanted = {"topics": [], "changes": {"table": "things"}}
        parts = urlsplit(process.url)
        assert parts.hostname is not None
        page = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
        page.request("POST", "/console/api/live", json.dumps(wanted), {"Content-Type": "application/json"})
        answer = page.getresponse()
        # Each connection goes to any of the workers.
        left: set[str] = set()
        writers: set[int] = set()
        while len(left) < 8 or len(writers) < 2:
            name = str(len(left))
            put = {"table": "things", "item": {"k": {"S": name}}, "seen": None}
            assert send(process.url, "POST", "/console/api/put", put)[0] == 200
            left.add(name)
            writers.add(send(process.url, "POST", "/console/api/about", {})[1]["process"]["pid"])
        for line in iter(answer.readline, b""):
            if line.startswith(b"data: {"):
                left -= {each["key"]["k"]["S"] for each in json.loads(line.removeprefix(b"data: "))["events"]}
            if not left:
                break
        assert left == set()
        page.close()


def test_a_key_logs_in(tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps({"OWNER": {"secret": "s1"}, "READER": {"secret": "s2", "tables": {"things": "read"}}}))
    keys.chmod(0o600)
    with serving("--memory", "--keys", keys) as process:
        make_table(process.url, aws_access_key_id="OWNER", aws_secret_access_key="s1")
        assert send(process.url, "GET", "/console/api/open") == (200, {"product": "sortkey", "auth": "key"})
        assert send(process.url, "POST", "/console/api/tables", {})[0] == 401
        reader = {"Authorization": "Bearer READER:s2"}
        status, tables = send(process.url, "POST", "/console/api/tables", {}, reader)
        assert (status, [each["editable"] for each in tables["tables"]]) == (200, [False])
        put = {"table": "things", "item": {"k": {"S": "b"}}, "seen": None}
        assert send(process.url, "POST", "/console/api/put", put, reader)[0] == 403
        owner = {"Authorization": "Bearer OWNER:s1"}
        assert send(process.url, "POST", "/console/api/put", put, owner)[0] == 200


# A page that is open must not hold the stop up.
def test_open_pages_end_with_the_server() -> None:
    with serving("--memory") as process:
        parts = urlsplit(process.url)
        assert parts.hostname is not None
        client = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
        client.request("POST", "/console/api/live", '{"topics": ["overview"]}', {"Content-Type": "application/json"})
        response = client.getresponse()
        lines = iter(response.readline, b"")
        make_table(process.url)
        for line in lines:
            if line.startswith(b"data: {"):
                (service,) = json.loads(line.removeprefix(b"data: "))["services"]
                if service["requests"]:
                    break
        assert service["name"] == "dynamodb"
        process.process.terminate()
        assert b"event: bye\n" in lines
        client.close()

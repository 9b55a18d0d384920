"""Whole processes: `sortkey serve` and `sortkey up`, from their first line to their last."""

from __future__ import annotations

import http.client
import json
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import boto3
import pytest

from sortkey.server.exchange import BODY_BYTES
from tests.server.notes import DEMO
from tests.server.serving import Process, call
from tests.storage.byte_store import wait_until

# Each process imports everything anew.
pytestmark = pytest.mark.slow

Start = Callable[..., Process]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts processes of the test's own; one that a failing test leaves behind is killed."""
    started: list[Process] = []

    def begin(*arguments: str | Path, log: str = "off") -> Process:
        started.append(Process(*arguments, log=log))
        return started[-1]

    yield begin
    for process in started:
        process.end()


def dynamodb(endpoint: str) -> Any:
    return boto3.client(
        "dynamodb",
        endpoint_url=endpoint,
        region_name="eu-west-1",
        aws_access_key_id="local",
        aws_secret_access_key="local",
    )


# Two ways to one store: what comes in by one is there for the other at once, and after a restart for both.
@pytest.mark.parametrize("kept", [True, False], ids=["a folder", "memory"])
def test_services_and_endpoint_share_one_store(start: Start, tmp_path: Path, kept: bool) -> None:
    store = str(tmp_path / "data") if kept else "memory:"
    server = start("up", "--store", store, "--db-port", "0")
    assert server.call("PUT", "/notes/s/a", {"text": "over HTTP"}).status == 200
    with closing(dynamodb(server.endpoint())) as db:
        stored = db.get_item(TableName="notes", Key={"pk": {"S": "SHELF#s"}, "sk": {"S": "a"}})["Item"]
        assert stored["text"] == {"S": "over HTTP"}
        db.put_item(TableName="notes", Item={**stored, "text": {"S": "over the endpoint"}})
    assert server.call("GET", "/notes/s/a").json() == {"text": "over the endpoint"}
    server.stop()
    again = start("up", "--store", store, "--db-port", "0")
    answer = again.call("GET", "/notes/s/a")
    assert (answer.status, answer.body) == ((200, b'{"text":"over the endpoint"}') if kept else (404, answer.body))
    again.stop()


def test_demonstration_data_is_loaded_once(start: Start, tmp_path: Path) -> None:
    arguments = ("up", "--store", tmp_path, "--db-port", "0")
    first = start(*arguments)
    assert first.call("POST", "/notes/demo/search", {"names": ["0", str(DEMO - 1)]}).json()["texts"] == [
        "note 0",
        f"note {DEMO - 1}",
    ]
    first.call("PUT", "/notes/demo/1", {"text": "mine"})
    printed = first.stop()
    assert "loading the demonstration data of notes" in printed
    assert "loading the demonstration data of notes: done in " in printed
    second = start(*arguments)
    assert second.call("GET", "/notes/demo/1").json() == {"text": "mine"}
    assert "demonstration" not in second.stop()


def test_maintenance_runs_while_the_server_does(start: Start, tmp_path: Path) -> None:
    served = ("serve", "notes", "--store", tmp_path)
    server = start(*served, "--no-follow")
    assert server.call("GET", "/notes/maintenance/state/copy").status == 404
    server.stop()
    server = start(*served)
    assert server.call("GET", "/notes/maintenance/state/copy").json() == {"text": "running"}
    server.stop()
    server = start(*served, "--no-follow")
    assert server.call("GET", "/notes/maintenance/state/copy").json() == {"text": "ended"}


def test_the_demonstration_has_visitors(start: Start) -> None:
    server = start("up", "--store", "memory:", "--db-port", "0")
    wait_until(lambda: server.call("GET", "/notes/demo/visitor").status == 200)


@pytest.mark.parametrize("command", [("up", "--no-demo", "--db-port", "0"), ("serve", "notes")])
def test_demonstration_data_can_be_left_out(start: Start, command: tuple[str, ...]) -> None:
    server = start(*command, "--store", "memory:")
    assert server.call("GET", "/notes/demo/0").status == 404
    assert server.call("GET", "/notes/demo/visitor").status == 404
    server.stop()


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it(start: Start, stop: signal.Signals) -> None:
    server = start("serve", "notes", "--store", "memory:")
    assert server.call("GET", "/health").json() == {"status": "ok"}
    assert server.stop(stop) == ""


# Answered writes are stored, and no client gets half an answer.
def test_a_stop_under_load_loses_no_answered_write(start: Start, tmp_path: Path) -> None:
    server = start("serve", "notes", "--store", tmp_path)
    answered: list[str] = []
    enough = threading.Event()

    def write(worker: int) -> None:
        with closing(server.client()) as client:
            for number in range(100_000):
                name = f"{worker}-{number}"
                try:
                    answer = call(client, "PUT", f"/notes/s/{name}", {"text": name})
                except (http.client.RemoteDisconnected, ConnectionError):
                    return
                assert answer.status == 200
                answered.append(name)
                if len(answered) > 200:
                    enough.set()

    workers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for worker in workers:
        worker.start()
    assert enough.wait(60)
    assert server.stop() == ""
    for worker in workers:
        worker.join()
    again = start("serve", "notes", "--store", tmp_path)
    with closing(again.client()) as client:
        for first in range(0, len(answered), 100):
            names = answered[first : first + 100]
            assert call(client, "POST", "/notes/s/search", {"names": names}).json() == {"texts": names}
    again.stop()


# Many clients send all before they read anything: they must get the answer, and may go on.
@pytest.mark.parametrize("path", ["/notes/s/search", "/notes/s/slow-search"])
@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_is_too_large_is_thrown_away(start: Start, path: str, chunked: bool) -> None:
    server = start("serve", "notes", "--store", "memory:")
    whole = b"x" * (BODY_BYTES + 1)
    with closing(server.client()) as client:
        for _ in range(2):
            client.request("POST", path, iter([whole]) if chunked else whole, encode_chunked=chunked)
            response = client.getresponse()
            assert (response.status, json.loads(response.read())["error"]["code"]) == (413, "too_large")
        assert call(client, "GET", "/health").status == 200
    server.stop()


# The service's code is the same over any store; only a remote store has no endpoint to serve here.
def test_a_store_behind_an_endpoint(start: Start, tmp_path: Path) -> None:
    near = start("up", "--store", tmp_path, "--db-port", "0", "--no-demo")
    far = start("up", "--store", near.endpoint(), "--no-demo")
    far.call("PUT", "/notes/s/a", {"text": "from afar"})
    assert near.call("GET", "/notes/s/a").json() == {"text": "from afar"}
    assert "is remote, so no DynamoDB endpoint is served" in far.stop()
    near.stop()


def test_the_log_and_the_trace_are_on_standard_error(start: Start) -> None:
    server = start("serve", "notes", "--store", "memory:", log="-")
    failed = server.call("DELETE", "/notes/s/unexpected")
    printed = server.stop().splitlines()
    entry = json.loads(next(line for line in printed if line.startswith("{")))
    assert (entry["status"], entry["error"], entry["id"]) == (500, "internal", failed.headers["x-request-id"])
    assert any("a secret" in line for line in printed)


def test_settings_reach_the_service(start: Start, tmp_path: Path) -> None:
    config = tmp_path / "sortkey.toml"
    config.write_text("[notes]\nreadOnly = true\n")
    server = start("serve", "notes", "--store", "memory:", "--config", config)
    assert server.call("PUT", "/notes/s/a", {"text": "x"}).error["message"] == "notes are read-only here"
    server.stop()

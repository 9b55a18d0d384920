"""`sortkey follow` on the command line, and what `sortkey up` and `sortkey serve` follow."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

import sortkey as sk
from sortkey.cli import follow
from sortkey.cli.main import main
from tests.feeds.changes.follow_process import FollowProcess
from tests.kafka.broker import Broker
from tests.kafka.topic import everything
from tests.maven import free_port
from tests.registered import only
from tests.server.notes import NOTES as TABLE
from tests.server.notes import Copy, Note
from tests.server.serving import Process
from tests.storage.byte_store import wait_until


def error(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """The one line on stderr of a command that cannot run."""
    code = main(["follow", *map(str, arguments)])
    printed = capsys.readouterr()
    assert (code, printed.out) == (2, "")
    assert printed.err.count("\n") == 1
    assert printed.err.startswith("sortkey follow: ")
    return printed.err


@pytest.fixture
def notes(monkeypatch: pytest.MonkeyPatch) -> str:
    """A service with a feed, in this process."""
    monkeypatch.setattr("sortkey.cli.services.entry_points", only(notes="tests.server.notes:DEFINITION"))
    return "notes"


def test_a_service_that_does_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert "there is no service 'boost'; there are boosts" in error(capsys, "boost")


def test_a_service_without_feeds(capsys: pytest.CaptureFixture[str]) -> None:
    place = "tests.feeds.resend.depot:WITHOUT_FEEDS"
    assert "the service shelf has no change feeds; those that have: " in error(capsys, place)


# Goals sends events to Kafka, and has no broker unless its settings name one.
def test_a_service_whose_settings_give_it_no_feeds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sk.connect(tmp_path / "data").close()
    assert "the service goals has no change feeds with these settings" in error(
        capsys, "goals", "--store", tmp_path / "data"
    )


# Nothing else could write to it.
def test_a_store_in_memory(notes: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--store memory: has no changes" in error(capsys, notes, "--store", "memory:")


def test_a_store_that_cannot_be(notes: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "unknown scheme 'ftp'" in error(capsys, notes, "--store", "ftp://x")


def test_a_lease_that_cannot_be(notes: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--lease is a number of seconds above 0, not 0" in error(capsys, notes, "--store", tmp_path, "--lease", "0")


@pytest.mark.slow
def test_a_store_that_is_not_there(notes: str, capsys: pytest.CaptureFixture[str]) -> None:
    store = f"http://127.0.0.1:{free_port()}"
    assert f"the store {store} cannot be used" in error(capsys, notes, "--store", store)


def test_a_port_in_use(notes: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert "Address already in use" in error(capsys, notes, "--store", tmp_path, "--metrics-port", port)


def test_brokers_without_a_topic(notes: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = error(capsys, notes, "--store", tmp_path, "--kafka", "127.0.0.1:1")
    assert "--kafka and --dead-letters need each other" in line


@pytest.mark.slow
def test_a_broker_that_is_not_there(
    notes: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(follow, "START_SECONDS", 0.5)
    address = f"127.0.0.1:{free_port()}"
    line = error(capsys, notes, "--store", tmp_path / "data", "--kafka", address, "--dead-letters", "letters")
    assert f"cannot reach Kafka at {address} within 0.5 s" in line
    assert list(tmp_path.iterdir()) == []


class Started:
    """Processes of one test; those that a failing test leaves behind are killed."""

    def __init__(self) -> None:
        self.servers: list[Process] = []
        self.followers: list[FollowProcess] = []

    def serve(self, *arguments: str | Path) -> Process:
        self.servers.append(Process(*arguments))
        return self.servers[-1]

    def follow(self, store: Path, *arguments: str) -> FollowProcess:
        self.followers.append(FollowProcess("tests.server.main", "notes", store, *arguments))
        return self.followers[-1]


@pytest.fixture
def start() -> Iterator[Started]:
    started = Started()
    yield started
    for server in started.servers:
        server.end()
    for follower in started.followers:
        follower.kill()


def copied(server: Process, name: str) -> bool:
    return server.call("GET", f"/notes/s/{name}/copy").status == 200


@pytest.mark.slow
@pytest.mark.parametrize("command", [("up", "--no-demo", "--db-port", "0"), ("serve", "notes")])
def test_servers_follow_feeds(start: Started, command: tuple[str, ...]) -> None:
    server = start.serve(*command, "--store", "memory:")
    assert server.call("PUT", "/notes/s/a", {"text": "x"}).status == 200
    wait_until(lambda: copied(server, "a"))
    # The copy is there a moment before it is counted.
    handled = 'sortkey_change_feed_records_total{feed="note-copies",outcome="handled"} 1\n'
    wait_until(lambda: handled in server.call("GET", "/metrics").body.decode())
    assert 'sortkey_change_feed_leases{feed="note-copies"} 1\n' in server.call("GET", "/metrics").body.decode()
    server.stop()


# Both processes use the folder at the same time.
@pytest.mark.slow
@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
def test_a_follower_beside_a_server(start: Started, tmp_path: Path, by: signal.Signals) -> None:
    store = tmp_path / "data"
    server = start.serve("serve", "notes", "--store", store, "--no-follow")
    assert server.call("PUT", "/notes/s/a", {"text": "x"}).status == 200
    follower = start.follow(store)
    follower.wait_until(lambda: copied(server, "a"))
    assert follower.get("/health") == "healthy\n"
    assert follower.sample("leases") == 1
    assert follower.stop(by) == ""
    assert server.call("PUT", "/notes/s/b", {"text": "x"}).status == 200
    metrics = server.call("GET", "/metrics").body.decode()
    assert "sortkey_change_feed" not in metrics
    assert not copied(server, "b")
    server.stop()


# A row that some other program wrote.
@pytest.mark.slow
def test_a_poisoned_change_goes_to_the_table_and_the_topic(start: Started, tmp_path: Path, broker: Broker) -> None:
    store = tmp_path / "data"
    with sk.connect(store, tables=[TABLE, Copy]) as db:
        db.create_tables()
        db.put(Note(shelf="s", name="a", text="x"))
        key = Note.key(shelf="s", name="b").key()
        db.client.put_item(
            TableName=TABLE.name, Item={**key, "shelf": {"S": "s"}, "name": {"S": "b"}, "text": {"N": "1"}}
        )
        db.put(Note(shelf="s", name="c", text="x"))
        follower = start.follow(store, "--kafka", broker.bootstrap, "--dead-letters", "notes.dead-letters")
        follower.wait_until(lambda: len(list(db.scan(Copy))) == 2)
        follower.wait_until(lambda: follower.sample("records_total") == 3)
        assert "gave up the change" in follower.stop()
        (letter,) = db.iterate(sk.feeds.DeadLetter.key(feed="note-copies"))
    (message,) = everything(broker.bootstrap, "notes.dead-letters")
    assert message.value() == letter.record.encode()
    assert "sk='b' cannot be read" in letter.reason

"""`sortkey dead-letters` on the command line."""

from __future__ import annotations

import asyncio
import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import sortkey as sk
from sortkey.cli import dead_letters
from sortkey.cli.main import main
from tests.feeds.kafka.working import Recorder, settings, until, working
from tests.feeds.kafka.working import dead_letters as letters_in_topic
from tests.feeds.resend.depot import BROKEN, COUNTS, PARCELS, Depot, Parcel, PlaceCount
from tests.kafka.broker import Broker
from tests.kafka.topic import produce
from tests.maven import free_port
from tests.registered import only


@pytest.fixture(autouse=True)
def broken(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Parcels to Nowhere are given up."""
    places = {
        "depot": "tests.feeds.resend.depot:DEFINITION",
        "boosts": "sortkey_services.boosts.service_definition:BOOSTS",
    }
    monkeypatch.setattr("sortkey.cli.services.entry_points", only(**places))
    BROKEN.clear()
    BROKEN.add("Nowhere")
    yield
    BROKEN.clear()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("filled") / "data"

    async def fill() -> None:
        async with sk.async_connect(folder, tables=[PARCELS, COUNTS]) as db:
            service = Depot(db, {})
            await service.start()
            async with sk.feeds.Follower(db, service.feeds) as follower:
                for number, place in ((1, "Nowhere"), (2, "York"), (3, "Nowhere")):
                    await db.put(Parcel(number=number, place=place))
                await follower.caught_up()

    BROKEN.add("Nowhere")
    asyncio.run(fill())
    return folder


@pytest.fixture
def store(filled: Path, tmp_path: Path) -> Path:
    """With two parcels to Nowhere, which two feeds have given up."""
    shutil.copytree(filled, tmp_path / "data")
    return tmp_path / "data"


class Printed(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


class Command(NamedTuple):
    store: Path
    capsys: pytest.CaptureFixture[str]

    def __call__(self, *arguments: str) -> Printed:
        code = main(["dead-letters", "depot", "--store", str(self.store), *arguments])
        printed = self.capsys.readouterr()
        return Printed(code, printed.out, printed.err)


@pytest.fixture
def command(store: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(store, capsys)


def counted(store: Path) -> dict[str, int]:
    with sk.connect(store, tables=[COUNTS]) as db:
        return {each.place: each.parcels for each in db.scan(PlaceCount)}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def error(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """The one line on stderr of a command that cannot run."""
    code = main(["dead-letters", *map(str, arguments)])
    printed = capsys.readouterr()
    assert (code, printed.out) == (2, "")
    assert printed.err.count("\n") == 1
    return printed.err.removeprefix("sortkey dead-letters: ")


def test_a_list_has_a_line_for_each_letter_and_the_numbers(command: Command) -> None:
    code, out, _ = command()
    *lines, summary = out.splitlines()
    assert (code, len(lines), summary) == (0, 4, "4 dead letters: arrivals 2, place-counts 2")
    assert lines[0].startswith("arrivals/shardId-")
    assert lines[0].endswith("Broken: no place Nowhere")
    assert command("--feed", "arrivals", "--limit", "1").out.endswith("\n1 dead letter: arrivals 1\n")
    assert command("--since", "1h").out == out
    assert command("--until", "2020-01-01").out == "0 dead letters\n"


def test_a_letter_that_is_named_is_shown_whole(command: Command) -> None:
    name = command("--feed", "arrivals").out.split(maxsplit=1)[0]
    code, out, _ = command("--id", name)
    shown, end = json.JSONDecoder().raw_decode(out)
    assert (code, shown["id"], shown["record"]["eventName"]) == (0, name, "INSERT")
    assert out[end:].strip() == "1 dead letter: arrivals 1"
    code, out, _ = command("--id", "arrivals/nowhere/1")
    assert (code, out) == (1, "0 dead letters; 1 of the ids are not there\n")


def test_lines_of_json(command: Command) -> None:
    printed = command("--json")
    assert printed.code == 0
    assert {line["outcome"] for line in printed.lines} == {"listed"}
    assert {line["record"]["dynamodb"]["NewImage"]["place"]["S"] for line in printed.lines} == {"Nowhere"}
    failed = command("--json", "--retry", "--yes", "--limit", "1")
    assert failed.code == 1
    assert [(line["outcome"], line["error"]) for line in failed.lines] == [("failed", "Broken: no place Nowhere")]
    BROKEN.clear()
    sent = command("--json", "--retry", "--yes")
    assert (sent.code, [line["outcome"] for line in sent.lines]) == (0, ["sent"] * 4)
    assert sent.err == "sent again 4 dead letters\n"


def test_a_dry_run_does_nothing(command: Command) -> None:
    before = command("--json")
    for action, verb in (("--retry", "send again"), ("--drop", "drop")):
        code, out, _ = command(action, "--dry-run", "--feed", "arrivals")
        assert (code, len(out.splitlines())) == (0, 3)
        assert out.splitlines()[-1] == f"would {verb} 2 dead letters: arrivals 2"
    assert command("--json") == before


def test_letters_are_sent_again_and_counted_once(command: Command, store: Path) -> None:
    assert counted(store) == {"York": 1}
    code, out, err = command("--retry", "--yes")
    assert (code, out) == (1, "4 dead letters failed and stay\n")
    assert err.count("failed: Broken: no place Nowhere") == 4
    BROKEN.clear()
    assert command("--retry", "--yes")[:2] == (0, "sent again 4 dead letters\n")
    assert counted(store) == {"York": 1, "Nowhere": 2}
    assert command("--retry", "--yes")[:2] == (0, "there are no such dead letters\n")
    assert counted(store) == {"York": 1, "Nowhere": 2}


def test_letters_are_dropped(command: Command) -> None:
    assert command("--drop", "--yes", "--feed", "arrivals")[:2] == (0, "dropped 2 dead letters\n")
    assert command().out.endswith("\n2 dead letters: place-counts 2\n")


# A script that waits for an answer waits for ever.
def test_without_a_terminal_nothing_is_asked(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    code, out, err = command("--drop")
    assert (code, out) == (2, "")
    assert "there is no terminal to ask at; give --yes, or --dry-run" in err
    assert len(command("--json").lines) == 4


def test_a_person_is_asked(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    code, out, err = command("--drop", "--feed", "arrivals")
    assert (code, out) == (1, "")
    assert err == "Drop 2 dead letters? [y/N] sortkey dead-letters: nothing was done\n"
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    assert command("--drop", "--feed", "arrivals").out == "dropped 2 dead letters\n"


def test_an_outage_is_told(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_: object) -> None:
        raise ConnectionError("away")

    monkeypatch.setattr(Depot, "on_changes", away)
    code, out, err = command("--retry", "--yes", "--feed", "arrivals")
    assert (code, out) == (1, "")
    assert "stopped: arrivals meets an outage: ConnectionError: away; the other letters stay" in err


def test_an_interrupt_is_told(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(dead_letters.Deal, "show", interrupted)
    code, _, err = command("--drop", "--yes")
    assert (code, "interrupted; what was sent or dropped until then stays so" in err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["boost"], "there is no service 'boost'"),
        (
            ["tests.feeds.resend.depot:WITHOUT_FEEDS"],
            "has no change feeds, and so no dead letters in the store; those of its worker are in Kafka",
        ),
        (["depot", "--store", "memory:"], "--store memory: has no dead letters"),
        (["depot", "--topic", "t"], "give its brokers by --kafka, too"),
        (["depot", "--kafka", "x:1"], "--kafka needs --topic"),
        (["depot", "--kafka", "x:1", "--topic", "t", "--kafka-config", "/nowhere"], "cannot read the Kafka properties"),
        (["depot", "--retry"], "there is no terminal"),
    ],
)
def test_what_cannot_be_run(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert message in error(capsys, *arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--retry", "--drop"], "not allowed with argument --retry"),
        (["--since", "yesterday"], "'yesterday' is neither a time, as 2026-08-24T10:00Z, nor an age, as 2h"),
        (["--limit", "0"], "'0' is not a number from 1 on"),
    ],
)
def test_arguments_that_are_wrong(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["dead-letters", "depot", *arguments])
    assert message in capsys.readouterr().err


def test_a_store_or_a_broker_that_is_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "missing" in error(capsys, "depot", "--store", tmp_path / "missing")
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(dead_letters, "KAFKA_SECONDS", 0.2)
    address = f"127.0.0.1:{free_port()}"
    assert f"cannot reach Kafka at {address}" in error(capsys, "depot", "--kafka", address, "--topic", "t")


def test_messages_that_a_worker_rejected_come_to_it_again(broker: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    topic = broker.topic(1)
    kafka = settings(broker, topic)
    produce(broker.bootstrap, topic, [("k", b"poison 1"), ("k", b"poison 2")])

    async def received() -> list[int]:
        """By a worker, until it has rejected two messages."""
        recorder = Recorder()
        async with working(kafka, recorder) as worker:
            await until(lambda: worker.metrics.dead_letters == 2)
        return [message.offset for message in recorder.messages]

    assert asyncio.run(received()) == [0, 1]
    assert len(letters_in_topic(kafka, 2)) == 2
    arguments = ["dead-letters", "depot", "--kafka", broker.bootstrap, "--topic", topic, "--group", kafka.group]
    assert main(arguments) == 0
    assert capsys.readouterr().out.endswith(f"\n2 dead letters: {topic} 2\n")
    assert main([*arguments, "--retry", "--yes"]) == 0
    assert capsys.readouterr().out == "sent again 2 dead letters\n"
    assert asyncio.run(received()) == [2, 3]
    # They were rejected again.
    assert len(letters_in_topic(kafka, 4)) == 4
    assert main([*arguments, "--drop", "--yes"]) == 0
    assert capsys.readouterr().out == "dropped 2 dead letters\n"

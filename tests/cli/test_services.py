"""Services that commands find: registered by any package, or named by their place; and their settings."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

import sortkey as sk
from sortkey.cli import services
from sortkey.cli.main import main
from sortkey.cli.services import GROUP, registered_services, service_named, settings_of
from sortkey.engine.database import Database
from sortkey.services.interface import BadSettings
from tests.feeds.changes.follow_process import FollowProcess
from tests.kafka.broker import Broker
from tests.kafka.fixtures import StartWorker
from tests.kafka.topic import produce
from tests.registered import only

SERVICE = """
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import sortkey as sk


class Word(sk.Item, table=sk.Table("their-words", stream="NEW_AND_OLD_IMAGES")):
    word: str
    first: str
    key = sk.Key("{word}")


class Count(sk.Item, table="their-counts"):
    first: str
    words: int = 0
    key = sk.Key("{first}")


COUNTED = sk.patterns.aggregate(Word, into=Count, by=("first",), values={"words": sk.patterns.count()})


class Words:
    name = "words"
    routes = ()

    def __init__(self, session, settings):
        self._session = session
        self.feeds = [sk.feeds.ChangeFeed("word-counts", Word, COUNTED.aggregator(session).on_changes)]

    async def start(self):
        await self._session.create_tables(Word, Count)

    async def consume(self, messages):
        for message in messages:
            word = message.value.decode()
            await self._session.put(Word(word=word, first=word[0]))
        return ()


class Job:
    summary = "Words of the command line."
    when_interrupted = "try again"

    def add_arguments(self, parser):
        parser.add_argument("words", metavar="WORD", nargs="+", help="a word to write")
        parser.add_argument("--fail", choices=["rejected", "failed"])

    async def run(self, run):
        if run.arguments.fail == "rejected":
            raise sk.services.JobRejected("these are no words")
        async with run.connect() as session:
            await session.create_tables()
            with run.progress as progress:
                show = progress.part("writing words", "words")
                for number, word in enumerate(run.arguments.words, 1):
                    await session.put(Word(word=word, first=word[0]))
                    show(number, len(run.arguments.words))
        if run.arguments.fail == "failed":
            raise sk.services.JobFailed("the pen broke;\\nwrite again")
        sys.stdout.write(f"wrote {len(run.arguments.words)}\\n")


WORDS = sk.services.ServiceDefinition(
    "words", "words", lambda _: [Word, Count], Words, takes_messages=True, has_feeds=True, batch=Job(), load=Job()
)
NUMBER = 3
"""
PLACE = "their_words.service:WORDS"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package of another name, in the current folder."""
    folder = tmp_path / "their_words"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "service.py").write_text(SERVICE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "their_words"]:
        del sys.modules[name]


@pytest.fixture(params=["by its place", "registered"])
def words(package: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How the package's service is named."""
    if request.param == "by its place":
        return PLACE
    monkeypatch.syspath_prepend(str(package.parent))
    monkeypatch.setattr(services, "entry_points", only(words=PLACE))
    return "words"


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    try:
        code = main(arguments)
    except SystemExit as end:
        code = int(end.code or 0)
    return code, *capsys.readouterr()


class TestEveryCommand:
    """What the command line does with a service of anybody."""

    @pytest.fixture(autouse=True)
    def _existing(self, words: str) -> None:  # noqa: ARG002
        """In the folder that `words` has changed to; a job creates no store."""
        Database(Path("data")).close()

    def test_batch_and_load(self, words: str, capsys: pytest.CaptureFixture[str]) -> None:
        for command in ("batch", "load"):
            code, out, err = printed(capsys, command, words, "ant", "bee", "--store", "data")
            assert (code, out) == (0, "wrote 2\n")
            assert err.startswith(
                f"sortkey {command}: writing words: 2 words\nsortkey {command}: writing words: done in "
            )

    def test_the_job_has_arguments_of_its_own(self, words: str, capsys: pytest.CaptureFixture[str]) -> None:
        code, out, _ = printed(capsys, "batch", words, "--help")
        assert (code, "Words of the command line." in out, "--fail {rejected,failed}" in out) == (0, True, True)
        code, out, err = printed(capsys, "batch", words)
        assert (code, out) == (2, "")
        assert err == (
            f"sortkey batch {words}: the following arguments are required: WORD (see sortkey batch {words} --help)\n"
        )

    def test_a_job_that_is_rejected_or_fails(self, words: str, capsys: pytest.CaptureFixture[str]) -> None:
        rejected = printed(capsys, "batch", words, "ant", "--fail", "rejected")
        assert rejected == (2, "", "sortkey batch: these are no words\n")
        code, _, err = printed(capsys, "load", words, "ant", "--fail", "failed")
        assert (code, err.splitlines()[-1]) == (1, "sortkey load: the pen broke; write again")

    def test_recount(self, words: str, capsys: pytest.CaptureFixture[str]) -> None:
        printed(capsys, "load", words, "ant", "--store", "data")
        code, out, _ = printed(capsys, "recount", words, "--store", "data", "--repair")
        assert (code, out.partition(":")[0]) == (0, "word-counts")

    def test_token(self, words: str, capsys: pytest.CaptureFixture[str]) -> None:
        code, out, err = printed(capsys, "token", "ada", f"{words}:read", "--tokens", "tokens.toml")
        assert (code, out[:3], err) == (0, "sk_", "")
        assert 'scopes = ["words:read"]' in Path("tokens.toml").read_text()

    # They get as far as their other arguments.
    @pytest.mark.parametrize(
        ("command", "wrong", "line"),
        [
            ("serve", ("--store", "ftp://x"), "unknown scheme 'ftp'"),
            ("follow", ("--store", "memory:"), "--store memory: has no changes"),
            ("worker", ("--kafka", "x", "--topic", "t", "--store", "memory:"), "would lose all messages"),
        ],
    )
    def test_the_servers(
        self, words: str, capsys: pytest.CaptureFixture[str], command: str, wrong: tuple[str, ...], line: str
    ) -> None:
        code, out, err = printed(capsys, command, words, *wrong)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert line in err

    def test_settings(self, words: str, capsys: pytest.CaptureFixture[str]) -> None:
        Path("sortkey.toml").write_text("[words]\nx = 1\n[word]\n")
        code, _, err = printed(capsys, "batch", words, "ant", "--config", "sortkey.toml")
        assert (code, "there is no service 'word'; the known tables are" in err, "[words]" in err) == (2, True, True)
        Path("sortkey.toml").write_text("[words]\nx = 1\n")
        assert printed(capsys, "batch", words, "ant", "--config", "sortkey.toml")[0] == 0


# Beside one of another package, in one process.
@pytest.mark.slow
@pytest.mark.usefixtures("package")
def test_two_packages_in_one_server() -> None:
    command = [sys.executable, "-m", "sortkey", "serve", "boosts", PLACE, "--store", "memory:", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        server.terminate()
        assert line.startswith("ready http://"), server.communicate()[1]


def found_by_processes(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the processes of a test import the package, whatever folder they run in."""
    others = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(package.parent), *([others] if others else [])]))


@pytest.mark.slow
def test_its_feeds_in_a_process_of_their_own(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found_by_processes(package, monkeypatch)
    Database(Path("data")).close()
    assert main(["load", PLACE, "ant", "ape", "bee", "--store", "data"]) == 0
    follower = FollowProcess("sortkey", PLACE, Path("data").absolute())
    try:
        follower.wait_until(lambda: follower.sample("records_total") == 3)
        assert follower.stop() == ""
    finally:
        follower.kill()
    assert counts_of_words() == {"a": 2, "b": 1}


@pytest.mark.slow
def test_its_messages_in_a_process_of_their_own(
    package: Path, broker: Broker, start_worker: StartWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    found_by_processes(package, monkeypatch)
    topic = broker.topic(1)
    worker = start_worker(PLACE, topic, str(Path("data").absolute()))
    produce(broker.bootstrap, topic, [("a", b"ant"), ("b", b"bee")])
    worker.wait_until_handled(2)
    assert worker.stop(signal.SIGTERM) == 0
    with sk.client("data") as client:
        assert sorted(item["word"]["S"] for item in client.scan(TableName="their-words")["Items"]) == ["ant", "bee"]


def counts_of_words() -> dict[str, int]:
    with sk.client("data") as client:
        items = client.scan(TableName="their-counts")["Items"]
    return {item["first"]["S"]: int(item["words"]["N"]) for item in items}


class TestWhatCannotBeFound:
    @pytest.mark.parametrize(
        ("name", "line"),
        [
            ("bosts", "there is no service 'bosts'; there are boosts, favourites, goals, pricing, social; did you mean 'boosts'?"),  # noqa: E501
            ("x.y", "there is no service 'x.y'; there are boosts, favourites, goals, pricing, social; name one that is not registered as package.module:NAME"),  # noqa: E501
            ("no_such.module:X", "no_such.module:X cannot be loaded: there is no module 'no_such.module': No module named 'no_such'"),  # noqa: E501
            ("their_words.service:WORD", "their_words.service:WORD cannot be loaded: module 'their_words.service' has no 'WORD'; its definitions: WORDS"),  # noqa: E501
            ("their_words.service:NUMBER", "their_words.service:NUMBER cannot be loaded: NUMBER is not a ServiceDefinition; its definitions: WORDS"),  # noqa: E501
            ("their_words:X", "their_words:X cannot be loaded: module 'their_words' has no 'X'; it has no ServiceDefinition"),  # noqa: E501
            (":X", ":X cannot be loaded: ':X' is not package.module:NAME"),
        ],
    )  # fmt: skip
    @pytest.mark.usefixtures("package")
    def test_the_line_says_why(self, name: str, line: str) -> None:
        with pytest.raises(BadSettings) as error:
            service_named(name)
        assert str(error.value) == line

    def test_a_module_that_cannot_be_imported(self, package: Path) -> None:
        (package / "service.py").write_text("import no_such_module\n")
        with pytest.raises(BadSettings, match=r"cannot import the module .*: No module named 'no_such"):
            service_named(PLACE)

    def test_a_module_that_raises(self, package: Path) -> None:
        (package / "service.py").write_text("\n1 / 0\n")
        with pytest.raises(BadSettings, match=r"ZeroDivisionError in .*service.py, line 2: division by zero"):
            service_named(PLACE)

    def test_none_is_registered(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        monkeypatch.setattr(services, "entry_points", only())
        with pytest.raises(BadSettings, match="there is no service 'boosts'; none is registered; name one"):
            service_named("boosts")
        assert printed(capsys, "up")[2].startswith("sortkey up: there is no service under the entry points")

    def test_two_packages_with_one_name(self, monkeypatch: pytest.MonkeyPatch) -> None:
        entries = EntryPoints([EntryPoint("words", "a:X", GROUP), EntryPoint("words", "b:X", GROUP)])
        monkeypatch.setattr(services, "entry_points", lambda group: entries.select(group=group))
        with pytest.raises(BadSettings, match="two packages register a service 'words': a:X of an unknown"):
            service_named("words")

    def test_a_name_that_is_not_the_definitions_own(self, package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.syspath_prepend(str(package.parent))
        monkeypatch.setattr(services, "entry_points", only(verbs=PLACE))
        with pytest.raises(BadSettings, match="is called 'words' in its definition; register it under that name"):
            service_named("verbs")

    def test_one_that_fails_does_not_hide_the_others(self, package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.syspath_prepend(str(package.parent))
        monkeypatch.setattr(services, "entry_points", only(broken="no_such_module:X", words=PLACE))
        reported: list[str] = []
        assert [service.name for service in registered_services(reported.append)] == ["words"]
        (line,) = reported
        assert line.startswith("the service 'broken' of an unknown package cannot be loaded: No module named")

    def test_two_services_of_one_name_in_one_server(self, package: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (package / "copy.py").write_text(SERVICE.replace("their-", "other-"))
        code, _, err = printed(capsys, "serve", PLACE, "their_words.copy:WORDS", "--store", "memory:", "--port", "0")
        assert (code, "two of the services are called 'words'" in err) == (2, True)


# A start does not wait for the services that it does not run.
@pytest.mark.slow
def test_only_the_named_service_is_imported() -> None:
    program = "import sys\nfrom sortkey.cli.services import service_named\nservice_named('boosts')\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    packages = {name.split(".")[1] for name in done.stdout.split() if name.startswith("sortkey_services.")}
    assert packages & {"boosts", "favourites", "goals", "pricing", "social"} == {"boosts"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "sortkey.toml"


def test_a_service_gets_its_own_table(file: Path) -> None:
    file.write_text('[boosts]\ndesign = "v2"\n[boosts.tenants.de]\ntimezone = "Europe/Berlin"\n')
    assert settings_of(file, "boosts") == {"design": "v2", "tenants": {"de": {"timezone": "Europe/Berlin"}}}


def test_without_a_file_or_a_table_the_defaults_hold(file: Path) -> None:
    file.write_text("")
    assert settings_of(None, "boosts") == settings_of(file, "boosts") == {}


# The message must lead to the place.
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"[boosts]\ndesign = v2\n", "line 2"),
        (b"[bosts]\n", "'bosts'"),
        (b"boosts = 3\n", "'boosts' must be a table"),
        (b"\xff", "not UTF-8"),
    ],
    ids=["not TOML", "a table of no service", "no table", "not text"],
)
def test_mistakes_are_reported_with_their_place(file: Path, content: bytes, expected: str) -> None:
    file.write_bytes(content)
    with pytest.raises(BadSettings, match=expected) as error:
        settings_of(file, "boosts")
    assert str(file) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there(file: Path) -> None:
    with pytest.raises(BadSettings, match="No such file"):
        settings_of(file, "boosts")

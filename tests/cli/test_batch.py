from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sortkey as sk
from sortkey.cli.main import main
from sortkey_services.goals.batch.command import MEANINGS
from sortkey_services.goals.batch.demo_gold import PERSONS
from sortkey_services.goals.batch.person_goals import person_views
from sortkey_services.goals.model import PersonView, views
from tests.sortkey_services.goals.batch.small_gold import SmallGold, may
from tests.wire.serving import ServerProcess


class Command:
    """`sortkey batch goals` on a small gold and a store in a folder."""

    def __init__(self, folder: Path) -> None:
        self.gold = SmallGold(folder)
        self.gold.write()
        self.store = f"file:{folder / 'data'}"
        sk.connect(self.store).close()

    def __call__(self, *arguments: str, as_of: str = "2026-05-16T00:00:00Z") -> int:
        inputs = ["--gold", str(self.gold.folder), "--rules", self.gold.rules, "--as-of", as_of]
        return main(["batch", "goals", *inputs, "--store", self.store, *arguments])

    def saved(self) -> int:
        """What Ana has saved."""

        async def read() -> int:
            async with sk.async_connect(self.store) as db:
                found = await views.reader(db).get(person="ana")
                assert found is not None
                return found.goals[1].saved_cents

        return asyncio.run(read())


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path)


@pytest.mark.slow
def test_it_loads_says_so_and_rolls_back(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert command() == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("goals: 3 persons, month 2026-05\nserves generation 20260516T000000Z-")
    assert "sortkey batch: writing goals: 3 rows\n" in shown.err
    command.gold.contribute(amount_cents=1)
    command.gold.write()
    assert command(as_of="2026-05-17T00:00:00+02:00") == 0
    assert command.saved() == 32_001
    assert main(["batch", "goals", "--rollback", "--store", command.store]) == 0
    assert "serves again generation 20260516T000000Z-" in capsys.readouterr().out
    assert command.saved() == 32_000


def test_nothing_to_roll_back_to(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["batch", "goals", "--rollback", "--store", command.store]) == 1
    assert "is kept from before the one that is served" in capsys.readouterr().err


@pytest.mark.slow
def test_an_older_as_of_is_rejected(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert command() == 0
    assert command(as_of="2026-05-15T00:00:00Z") == 1
    assert "what is served has not changed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--as-of", "2026-05-16"), "--as-of '2026-05-16' must be an instant with an offset, such as 2026-05-16T00:00:00Z"),  # noqa: E501
        (("--as-of", "noon"), "--as-of 'noon' must be an instant with an offset, such as 2026-05-16T00:00:00Z"),
        (("--month", "2026-13"), "--month '2026-13' must be a month, such as 2026-05"),
        (("--month", "9999-12"), "--month '9999-12' must be a month, such as 2026-05"),
        (("--as-of", "9999-12-31T23:59:59Z"), "--as-of '9999-12-31T23:59:59Z' is out of range; its year must be from 1900 to 8999"),  # noqa: E501
        (("--as-of", "0001-01-01T00:00:00+05:00"), "--as-of '0001-01-01T00:00:00+05:00' is out of range; its year must be from 1900 to 8999"),  # noqa: E501
        (("--demo",), "--demo takes no --gold"),
        (("--rollback",), "--rollback takes no --gold"),
        (("--report", "."), "--report . is a folder; name a file"),
        (("--rules", "postgresql://u:secret@host:port/x"), "--rules: postgresql://***@host:port/x is no URL of rules; use sqlite:///FILE or postgresql://HOST/NAME"),  # noqa: E501
        (("--month", "May"), "--month 'May' must be a month, such as 2026-05"),
        (("--month", "2026-06"), "goals: there is no goal for the month 2026-06; name another with --month"),
        (("--gold", "nowhere"), "--gold nowhere: there is no such folder"),
        (("--rules", "rules.db"), "--rules: rules.db is no URL of rules; use sqlite:///FILE or postgresql://HOST/NAME"),
        (("--store", "memory:"), "--store memory: would be gone with this command; use a folder or a URL"),
        (("--master", "local"), "--master local is for --engine spark"),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_one_line(
    command: Command, arguments: tuple[str, ...], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(*arguments) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", f"sortkey batch: {line}\n")


def test_gold_and_rules_are_needed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["batch", "goals"]) == 2
    assert capsys.readouterr().err == "sortkey batch: --gold is missing; a load needs --gold DIR and --rules URL\n"


def test_a_service_without_a_batch_job(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["batch", "boosts"]) == 2
    assert "there is no batch job of 'boosts'" in capsys.readouterr().err


@pytest.mark.slow
def test_an_as_of_in_the_future_is_told(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("--month", "2026-05", as_of="2126-05-16T00:00:00Z") == 0
    assert "is in the future: deposits until then will not show" in capsys.readouterr().err


@pytest.mark.slow
def test_the_report_is_a_table_and_a_file(command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("--report", str(tmp_path / "report.json")) == 0
    shown = capsys.readouterr().out
    assert "Reconciliation, the first batch" in shown
    assert "came, and no event had announced it" in shown
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert (report["asOf"], report["since"], report["persons"]) == ("2026-05-16T00:00:00+00:00", None, 3)
    assert report["reconciliation"] == dict.fromkeys(MEANINGS, 0)
    # A contribution that no event has announced.
    command.gold.contribute(amount_cents=1, effective_at=may(16, 9))
    command.gold.write()
    assert command("--report", str(tmp_path / "report.json"), as_of="2026-05-17T00:00:00Z") == 0
    assert "without event: ana SAVINGS_ACCOUNT: pending none, in the batch 320.01" in capsys.readouterr().out
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert report["since"] == "2026-05-16T00:00:00+00:00"
    assert report["reconciliation"]["without_event"] == 1
    assert report["examples"] == [
        {
            "outcome": "without_event",
            "personId": "ana",
            "goalId": "SAVINGS_ACCOUNT",
            "pendingCents": None,
            "savedCents": 32_001,
        }
    ]


def test_a_report_needs_its_folder(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("--report", "nowhere/report.json") == 2
    assert capsys.readouterr().err == "sortkey batch: --report nowhere/report.json: there is no folder nowhere\n"


@pytest.mark.slow
def test_the_demonstration_needs_no_inputs(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["batch", "goals", "--demo", "--store", command.store]) == 0
    shown = capsys.readouterr().out
    assert f"goals: {PERSONS + 1:,} persons" in shown
    assert "as of 2000" not in shown
    assert command() == 0, "a real batch replaces it, whatever its as-of"


@pytest.mark.slow
def test_a_report_that_cannot_be_written_comes_after_the_load(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    assert command("--report", str(tmp_path / "report.json")) == 1
    line = f"the load is served, but --report {tmp_path / 'report.json'} cannot be written: No space left on device\n"
    assert capsys.readouterr().err.endswith(f"sortkey batch: {line}")
    monkeypatch.undo()
    assert command.saved() == 32_000


def not_installed(name: str) -> None:
    raise ModuleNotFoundError(f"No module named {name!r}", name="pyarrow")


# A rollback is for emergencies, so it needs nothing but the store.
@pytest.mark.slow
def test_a_rollback_does_without_the_packages_of_a_load(
    command: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command() == 0
    # The second of these two is the first once more, so a rollback does not serve that.
    assert command(as_of="2026-05-17T00:00:00Z") == 0
    assert command(as_of="2026-05-17T00:00:00Z") == 0
    monkeypatch.setattr("sortkey_services.goals.batch.command.import_module", not_installed)
    assert main(["batch", "goals", "--rollback", "--store", command.store]) == 0
    capsys.readouterr()
    assert command() == 2
    assert capsys.readouterr().err == "sortkey batch: PyArrow is not installed; run: pip install 'sortkey[batch]'\n"


# The endpoint ends while the job writes to it.
@pytest.mark.slow
def test_a_store_that_is_lost_is_one_line(
    command: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server = ServerProcess("--memory")

    def lost(*arguments: Any) -> Iterator[PersonView]:
        for person in person_views(*arguments):
            if server.process.poll() is None:
                server.kill()
            yield person

    monkeypatch.setattr("sortkey_services.goals.batch.job.person_views", lost)
    assert command("--store", server.url) == 1
    (_, line) = capsys.readouterr().err.strip().rsplit("sortkey batch: ", 1)
    assert line.startswith("the store did not write the next items: EndpointConnectionError")
    assert line.endswith("; the same command goes on there")
    assert "\n" not in line


@pytest.mark.parametrize("options", [["--demo"], ["--rollback"]])
@pytest.mark.parametrize("there", [True, False])
def test_it_creates_no_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], there: bool
) -> None:
    folder = tmp_path / "nothing"
    if there:
        folder.mkdir()
    assert main(["batch", "goals", "--store", str(folder), *options]) == 2
    assert capsys.readouterr().err.startswith(f"sortkey batch: there is no store in {folder}; ")
    assert [*tmp_path.rglob("*")] == ([folder] if there else [])

"""`sortkey audit`: counts, examples, exit status, and where it continues."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sortkey as sk
from sortkey.cli.audit import ProgressBar
from sortkey.cli.main import main
from sortkey.model.audit.finding import Kind
from tests.model.audit.audited import ADA, AUDITED, Order, order_row
from tests.model.audit.test_audit import FLAWED, REPAIRED

MODULE = "tests.model.audit.audited"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store with the audited table, and ten orders."""
    folder = tmp_path / "data"
    with sk.connect(folder, tables=[AUDITED]) as db:
        db.create_tables()
        db.batch(put=[Order(customer=ADA, number=1000 + number, city="Rome") for number in range(10)])
    return folder


def put(folder: Path, *rows: Any) -> None:
    with sk.connect(folder, tables=[AUDITED]) as db:
        for row in rows:
            db.client.put_item(TableName="audited", Item=row)


def audit(folder: Path | str, *flags: str) -> int:
    return main(["audit", MODULE, "--store", str(folder), *flags])


def reported(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    (report,) = json.loads(capsys.readouterr().out)["tables"]
    return dict(report)


def test_a_clean_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit(folder) == 0
    printed = capsys.readouterr()
    assert "table audited: 10 rows, 10 fine\n" in printed.out
    assert re.search(r"^cost: [\d.]+ read units \(\$0\.\d+, list price of us-east-1\)$", printed.out, re.MULTILINE)
    assert printed.out.endswith("\nclean\n")
    assert printed.err == ""


def test_findings_are_counted_with_examples(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(folder, *FLAWED.values())
    assert audit(folder) == 1
    printed = capsys.readouterr().out
    assert "table audited: 19 rows, 10 fine\n" in printed
    assert all(kind.meaning in printed for kind in FLAWED)
    assert "gsi1sk='OPEN#000003' should be gsi1sk='OPEN#000105'\n" in printed
    assert f"PK='CUSTOMER#{str(ADA).upper()}', SK='ORDER#102': number is 3, but 102 in the key\n" in printed
    assert printed.endswith("8 findings; --repair can repair 4 of them\n")


def test_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(folder, FLAWED[Kind.TTL])
    assert audit(folder, "--json") == 1
    printed = json.loads(capsys.readouterr().out)
    assert (printed["clean"], printed["repair"], printed["differences"]) == (False, False, [])
    (table,) = printed["tables"]
    assert (table["table"], table["rows"], table["fine"]) == ("audited", 11, 10)
    (finding,) = table["findings"]
    assert finding == {
        "class": "Order",
        "kind": "ttl",
        "subject": "expires",
        "rows": 1,
        "repairable": 1,
        "repaired": 0,
        "skipped": 0,
        "examples": [
            {
                "key": {name: FLAWED[Kind.TTL][name] for name in ("PK", "SK")},
                "detail": "it is S '2027-01-15T08:00:00Z'",
            }
        ],
    }


def test_more_examples(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(folder, *(order_row(SK={"S": f"ORDER#{number:04}"}) for number in range(5)))
    assert audit(folder, "--examples", "5") == 1
    assert capsys.readouterr().out.count("would read it\n") == 5


def test_repair_says_what_it_repaired_and_what_is_left(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(folder, *FLAWED.values())
    assert audit(folder, "--repair") == 1
    printed = capsys.readouterr().out
    assert re.search(r"^ +rows +repaired +skipped +left +class +finding$", printed, re.MULTILINE)
    assert re.search(r"^ +1 +1 +0 +0 +Order +index-key-stale of gsi1: the index key is stale$", printed, re.MULTILINE)
    assert re.search(r"^ +1 +0 +0 +1 +\(none\) +unrecognised: no class", printed, re.MULTILINE)
    assert " write units (" in printed
    assert printed.endswith("4 findings are left\n")
    assert audit(folder, "--json") == 1
    assert {Kind(each["kind"]) for each in reported(capsys)["findings"]} == set(FLAWED) - REPAIRED


def test_a_table_whose_flaws_are_all_repaired_is_clean(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(folder, *(FLAWED[kind] for kind in REPAIRED))
    assert audit(folder, "--repair") == 0
    assert capsys.readouterr().out.endswith("clean\n")
    assert audit(folder) == 0


# Rows of an older version are read as they are; to write them anew is a decision.
def test_older_versions_are_upgraded_only_on_request(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(folder, FLAWED[Kind.OLDER_VERSION])
    assert audit(folder, "--repair") == 0
    assert "older-version: it has an older version" in capsys.readouterr().out
    assert audit(folder, "--upgrade") == 2
    assert capsys.readouterr().err == "sortkey audit: --upgrade writes rows, so it needs --repair\n"
    assert audit(folder, "--repair", "--upgrade") == 0
    capsys.readouterr()
    assert audit(folder, "--json") == 0
    assert reported(capsys)["findings"] == []


def test_differences_of_the_table_are_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with sk.client(folder) as client:
        client.update_table(TableName="audited", GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "gsi3"}}])
    assert audit(folder) == 0
    assert "differs from its declaration: table audited: index gsi3 does not exist\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["no_such_module"], "there is no module 'no_such_module'"),
        (["json"], "module 'json' has no class with a table"),
        ([MODULE, "--table", "audit"], "module 'tests.model.audit.audited' declares no table 'audit'; did you mean"),
        ([MODULE, "--store", "memory:"], "memory: exists only in the process that opens it"),
        ([MODULE, "--store", "ftp://x"], "'ftp://x' has the unknown scheme 'ftp'"),
        ([MODULE, "--store", "./no-such-folder"], "there is no folder no-such-folder"),
        ([MODULE, "--segments", "0"], "segments must be from 1 to 1,000,000, not 0"),
        ([MODULE, "--rate", "0"], "rate must be more than 0 units per second, not 0"),
    ],
)
def test_what_cannot_be_run_gives_one_line(
    arguments: list[str], expected: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = [] if "--store" in arguments else ["--store", str(folder)]
    assert main(["audit", *arguments, *store]) == 2
    message = capsys.readouterr().err
    assert message.startswith(f"sortkey audit: {expected}")
    assert message.count("\n") == 1


def test_a_table_that_does_not_exist(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sk.client(tmp_path / "empty").close()
    assert audit(tmp_path / "empty") == 2
    assert "audited" in capsys.readouterr().err


Interrupt = Callable[[int], None]


@pytest.fixture
def interrupt(monkeypatch: pytest.MonkeyPatch) -> Interrupt:
    """Lets the next audit be interrupted after so many reports of its progress."""

    def after(reports: int) -> None:
        left = iter(range(reports - 1))

        def show(*_: object) -> None:
            if next(left, None) is None:
                monkeypatch.undo()
                raise KeyboardInterrupt

        monkeypatch.setattr("sortkey.cli.audit.ProgressBar.show", show)

    return after


# The file has the counts of the rows that are done, so that both runs together report each row once.
@pytest.mark.slow
def test_an_interrupted_audit_continues(
    folder: Path, tmp_path: Path, interrupt: Interrupt, capsys: pytest.CaptureFixture[str]
) -> None:
    with sk.connect(folder, tables=[AUDITED]) as db:
        db.batch(put=[Order(customer=ADA, number=2000 + number) for number in range(1490)])
    put(folder, *FLAWED.values())
    state = tmp_path / "state.json"
    interrupt(2)
    assert audit(folder, "--repair", "--resume", str(state)) == 2
    assert capsys.readouterr().err == (f"sortkey audit: interrupted; the same command continues from {state}\n")
    (begun,) = json.loads(state.read_bytes())["tables"].values()
    assert begun["report"]["rows"] == 1000
    assert audit(folder, "--repair", "--json", "--resume", str(state)) == 1
    report = reported(capsys)
    assert (report["rows"], report["fine"]) == (1509, 1500)
    assert {Kind(each["kind"]) for each in report["findings"]} == set(FLAWED)
    assert {Kind(each["kind"]) for each in report["findings"] if each["repaired"]} == REPAIRED
    assert not state.exists()


class Shelf(sk.Item, table=sk.Table("audited-shelves")):
    shelf: str
    key = sk.Key("SHELF#{shelf}")


class Box(sk.Item, table=sk.Table("audited-boxes")):
    box: str
    key = sk.Key("BOX#{box}")


# A table that is done is not read again.
def test_an_audit_of_several_tables_continues(
    tmp_path: Path, interrupt: Interrupt, capsys: pytest.CaptureFixture[str]
) -> None:
    with sk.connect(tmp_path / "data", tables=[Shelf, Box]) as db:
        db.create_tables()
        db.batch(put=[Shelf(shelf="a"), Box(box="b"), Box(box="c")])
    command = ["audit", __name__, "--store", str(tmp_path / "data"), "--json", "--resume", str(tmp_path / "state")]
    only = ["--table", "audited-shelves", "--table", "audited-boxes"]
    interrupt(2)
    assert main([*command, *only]) == 2
    with sk.connect(tmp_path / "data", tables=[Shelf]) as db:
        db.delete(Shelf.key(shelf="a"))
    capsys.readouterr()
    assert main([*command, *only]) == 0
    tables = json.loads(capsys.readouterr().out)["tables"]
    assert {each["table"]: each["rows"] for each in tables} == {"audited-shelves": 1, "audited-boxes": 2}


# `--table` audits a part; what an audit of all tables has done of the others is still worth something.
def test_the_audit_of_one_table_keeps_the_state_of_others(tmp_path: Path, interrupt: Interrupt) -> None:
    with sk.connect(tmp_path / "data", tables=[Shelf, Box]) as db:
        db.create_tables()
        db.batch(put=[Shelf(shelf="a"), Box(box="b"), Box(box="c")])
    state = tmp_path / "state"
    command = ["audit", __name__, "--store", str(tmp_path / "data"), "--json", "--resume", str(state)]
    shelves, boxes = ["--table", "audited-shelves"], ["--table", "audited-boxes"]
    interrupt(2)
    assert main([*command, *shelves, *boxes]) == 2
    assert json.loads(state.read_bytes())["tables"].keys() == {"audited-shelves", "audited-boxes"}
    assert main([*command, *boxes]) == 0
    assert json.loads(state.read_bytes())["tables"].keys() == {"audited-shelves"}
    assert main([*command, *shelves]) == 0
    assert not state.exists()


def test_a_state_that_cannot_be_written_gives_one_line(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit(folder, "--resume", str(tmp_path / "none" / "state.json")) == 2
    assert capsys.readouterr().err == f"sortkey audit: there is no folder {tmp_path / 'none'} for the file state.json\n"
    (tmp_path / "state.json.new").mkdir()
    assert audit(folder, "--resume", str(tmp_path / "state.json")) == 2
    message = capsys.readouterr().err
    assert message.startswith("sortkey audit: [Errno 21] Is a directory")
    assert message.count("\n") == 1


def test_a_file_of_another_audit_is_rejected(
    folder: Path, tmp_path: Path, interrupt: Interrupt, capsys: pytest.CaptureFixture[str]
) -> None:
    state = tmp_path / "state.json"
    interrupt(1)
    assert audit(folder, "--resume", str(state)) == 2
    capsys.readouterr()
    assert audit(folder, "--repair", "--resume", str(state)) == 2
    assert f"{state} is the state of another audit: sortkey audit {MODULE}" in capsys.readouterr().err
    state.write_text("{}")
    assert audit(folder, "--resume", str(state)) == 2
    assert f"{state} is not the state of an audit" in capsys.readouterr().err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_a_bar(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    assert audit(folder) == 0
    assert "audited: ██████████████████████████████ 10 of about 10 rows" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")


# DynamoDB counts a table's items every six hours.
def test_a_table_that_has_grown_shows_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with ProgressBar("audited", 0) as bar:
        bar.show(0)
        bar.show(1200)
    assert terminal.getvalue() == "\r\x1b[Kaudited: 0 rows\r\x1b[Kaudited: 1,200 rows\r\x1b[K"


def test_it_creates_no_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit(tmp_path, "--repair") == 2
    assert capsys.readouterr().err.startswith(f"sortkey audit: there is no store in {tmp_path}; ")
    assert [*tmp_path.iterdir()] == []

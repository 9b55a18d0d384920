from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Any

import pytest

import sortkey
from sortkey.cli.main import main
from sortkey.copies.fences import RowFences


def notes(folder: Path, count: int = 20) -> Path:
    with sortkey.client(folder) as client:
        client.create_table(
            TableName="notes",
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        for number in range(count):
            client.put_item(TableName="notes", Item=note(number))
    return folder


def note(number: int) -> dict[str, Any]:
    return {"id": {"S": f"n{number}"}, "text": {"S": f"text {number}"}}


def texts(folder: Path) -> list[str]:
    with sortkey.client(folder) as client:
        return sorted(row["text"]["S"] for row in client.scan(TableName="notes")["Items"])


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return notes(tmp_path / "source")


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "target"


def test_copies_and_compares(source: Path, target: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["copy", str(source), str(target)]) == 0
    assert re.fullmatch(r"20 rows compared, 0 changes applied in [0-9.]+ s\nboth are equal\n", capsys.readouterr().out)
    assert texts(target) == texts(source)
    assert main(["copy", str(source), str(target), "--verify"]) == 0


def test_verify_names_what_differs(source: Path, target: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["copy", str(source), str(target)])
    with sortkey.client(target) as client:
        client.delete_item(TableName="notes", Key={"id": {"S": "n3"}})
    capsys.readouterr()
    assert main(["copy", str(source), str(target), "--verify"]) == 1
    assert capsys.readouterr().out.endswith("1 difference:\n  id='n3': only in the source\n")


def test_cuts_over_and_back(source: Path, target: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["copy", str(source), str(target), "--cut-over"]) == 0
    out = capsys.readouterr().out
    assert re.search(rf"writers were fenced for \d+\.\d+ s; the source refuses writes: moved to {target}\n", out)
    with sortkey.client(source) as client, pytest.raises(client.exceptions.TableMovedException):
        client.put_item(TableName="notes", Item=note(1))
    assert main(["copy", str(source), str(target), "--unfence"]) == 0
    assert capsys.readouterr().out == "1 table may be written again\n"
    with sortkey.client(source) as client:
        client.put_item(TableName="notes", Item=note(1))


def test_a_dry_run_copies_nothing(source: Path, target: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["copy", str(source), str(target), "--dry-run", "--rate", "2"]) == 0
    assert capsys.readouterr().out == (
        "1 table, 20 rows, 300 bytes\n"
        "20 write units in the target, 2 read units in the source\n"
        "about 10 s, $0.00 on DynamoDB on demand\n"
    )
    assert not target.exists()


def test_the_key_of_pseudonyms_is_kept(source: Path, target: Path, tmp_path: Path) -> None:
    key = tmp_path / "key"
    assert main(["copy", str(source), str(target), "--anonymise", "text", "--anonymise-key", str(key)]) == 0
    assert all(text.startswith("anon-") for text in texts(target))
    assert stat.S_IMODE(os.stat(key).st_mode) == 0o600
    other = tmp_path / "other"
    assert main(["copy", str(source), str(other), "--anonymise", "text", "--anonymise-key", str(key)]) == 0
    assert texts(other) == texts(target)


def test_a_part(source: Path, target: Path) -> None:
    assert main(["copy", str(source), str(target), "--where", "text = 'text 7'"]) == 0
    assert texts(target) == ["text 7"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["SOURCE", "SOURCE"], "FROM and TO are the same store"),
        (["SOURCE", "memory:"], "'memory:' would be gone with this command; give a folder or an endpoint"),
        (["nowhere", "TARGET"], "there is no store in nowhere; sortkey serve and sortkey db create one"),
        (["SOURCE", "TARGET", "--verify"], "there is no store in "),
        (["SOURCE", "TARGET", "--tables", "x"], "there is no table x; those of the source: notes"),
        (["SOURCE", "FILE"], "cannot use "),
        (["SOURCE", "TARGET", "--anonymise", "text", "--anonymise-key", "FOLDER"], "cannot use "),
        (["SOURCE", "TARGET", "--where", "text ="], "--where 'text =' is no condition: "),
        (["SOURCE", "TARGET", "--anonymise", "text"], "--anonymise needs --anonymise-key FILE: "),
        (["SOURCE", "TARGET", "--cut-over", "--no-stream"], "a cut-over needs all rows as they are, and the stream: "),
    ],
)
def test_wrong_arguments(
    source: Path, target: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    file, folder = target.parent / "file", target.parent / "folder"
    file.touch()
    folder.mkdir()
    places = {"SOURCE": str(source), "TARGET": str(target), "FILE": str(file), "FOLDER": str(folder)}
    assert main(["copy", *(places.get(each, each) for each in arguments)]) == 2
    assert capsys.readouterr().err.startswith(f"sortkey copy: {message}")
    assert not target.exists() or "--no-stream" in arguments


# An empty variable of a shell is not the wish to copy everything.
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tables", ""], "argument --tables: '' names no table"),
        (["--rate", "quick"], "argument --rate: 'quick' is not a number of units a second, more than 0"),
        (["--rate", "0"], "argument --rate: '0' is not a number of units a second, more than 0"),
    ],
)
def test_wrong_values(
    source: Path, target: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["copy", str(source), str(target), *arguments])
    assert capsys.readouterr().err == f"sortkey copy: {message} (see sortkey copy --help)\n"


def test_a_dry_run_tells_what_would_be_refused(source: Path, target: Path, capsys: pytest.CaptureFixture[str]) -> None:
    notes(target, 1)
    assert main(["copy", str(source), str(target), "--dry-run"]) == 2
    assert capsys.readouterr().err.startswith("sortkey copy: table notes has rows in the target; drop it there")


# DynamoDB refuses nothing, so the command may not say so.
def test_a_store_without_fences_refuses_no_writes(
    source: Path, target: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sortkey.cli.copy.fences_of", RowFences)
    assert main(["copy", str(source), str(target), "--cut-over"]) == 0
    out, errors = capsys.readouterr()
    assert "Sortkey's clients refuse writes: moved to" in out
    assert "has no fences: Sortkey's clients stop writing, others do not" in errors

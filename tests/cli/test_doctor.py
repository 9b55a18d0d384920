"""`sortkey doctor` on the command line: its page, its JSON, its exit code."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from sortkey.cli import doctor
from sortkey.cli.main import main
from sortkey.diagnosis.finding import Finding, fail, ok, warn
from sortkey.engine.database import Database
from tests.wire.serving import ServerProcess


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> list[Finding]:
    """What is found on this machine, whatever it is."""
    findings = [ok("python", "CPython 3.11.2")]
    monkeypatch.setattr(doctor, "examine_machine", lambda: list(findings))
    return findings


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Database.open(tmp_path / "data").close()
    return tmp_path / "data"


def test_each_finding_is_a_line_and_advice_is_below_it(
    machine: list[Finding], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    machine += [warn("interpreter", "slow", "use another"), fail("descriptors", "10", "raise it")]
    assert main(["doctor"]) == 1
    page = re.sub(r"\d{4}-\S+Z", "NOW", capsys.readouterr().out)
    assert page.splitlines() == [
        "sortkey doctor: this machine",
        "",
        "ok    python         CPython 3.11.2",
        "warn  interpreter    slow",
        "                     → use another",
        "fail  descriptors    10",
        "                     → raise it",
        "ok    clock          NOW, steady",
        "",
        "2 ok, 1 warn, 1 fail",
    ]


# A warning is for people; scripts stop at failures only.
def test_a_warning_is_no_failure(machine: list[Finding], folder: Path) -> None:
    machine.append(warn("interpreter", "slow", "use another"))
    assert main(["doctor", str(folder)]) == 0


def test_without_a_name_the_default_folder_is_examined_if_it_exists(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder.parent)
    assert main(["doctor"]) == 0
    assert "ok    database       format " in capsys.readouterr().out


def test_a_missing_folder_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", str(tmp_path / "absent")]) == 1
    assert f"fail  folder         {tmp_path / 'absent'} does not exist" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def findings_of(text: str) -> dict[str, dict[str, Any]]:
    return {finding["subject"]: finding for finding in json.loads(text)["findings"]}


def test_json_on_standard_output_replaces_the_page(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", str(folder), "--json", "-"]) == 0
    printed = capsys.readouterr().out
    assert (json.loads(printed)["fit"], json.loads(printed)["target"]) == (True, str(folder))
    found = findings_of(printed)
    assert found["python"] == {"subject": "python", "status": "ok", "found": "CPython 3.11.2"}
    assert found["disk space"]["numbers"]["free"] > 0


def test_json_in_a_file_comes_with_the_page(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", str(folder), "--json", str(tmp_path / "found.json")]) == 0
    assert findings_of((tmp_path / "found.json").read_text())["database"]["status"] == "ok"
    assert capsys.readouterr().out.startswith("sortkey doctor: ")


@pytest.mark.parametrize(
    "arguments",
    [
        ["ftp://example.com"],
        ["memory:"],
        ["http://"],
        ["data", "--write", "orders"],
        ["--write", "orders"],
        ["--json", "/dev/null/found.json"],
    ],
)
def test_wrong_arguments(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code = main(["doctor", *arguments])
    printed = capsys.readouterr()
    assert (code, printed.out, printed.err.count("\n")) == (2, "", 1)
    assert printed.err.startswith("sortkey doctor: ")


@pytest.mark.slow
def test_an_endpoint_is_written_to_only_if_asked(capsys: pytest.CaptureFixture[str]) -> None:
    server = ServerProcess("--memory")
    try:
        assert main(["doctor", server.url, "--json", "-"]) == 0
        assert "write" not in findings_of(capsys.readouterr().out)
        assert main(["doctor", f"{server.url}?prefix=dev-", "--write", "absent", "--json", "-"]) == 1
        assert findings_of(capsys.readouterr().out)["write"]["found"].startswith("dev-absent: ")
    finally:
        server.stop()

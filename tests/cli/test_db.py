"""`sortkey db` on the command line."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import lmdb
import pytest

import sortkey as sk
from sortkey.cli.main import main
from sortkey.client.stores import ALTERNATOR
from sortkey.storage import environment


def error(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """The one line on stderr of a command that cannot run."""
    try:
        code = main([str(argument) for argument in arguments])
    except SystemExit as end:
        code = int(end.code or 0)
    printed = capsys.readouterr()
    assert (code, printed.out) == (2, "")
    assert printed.err.count("\n") == 1
    assert printed.err.startswith(f"sortkey {arguments[0]}: ")
    return printed.err


@pytest.mark.parametrize("command", [["db", "--memory"], ["db", "--data", "folder"]])
@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.slow
def test_one_line_says_that_it_serves_and_a_signal_stops_it(
    tmp_path: Path, command: list[str], stop: signal.Signals
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "sortkey", *command, "--port", "0"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    ready, url = process.stdout.readline().split()
    assert ready == "ready"
    with urllib.request.urlopen(f"{url}/health") as answer:
        assert answer.status == 200
    process.send_signal(stop)
    assert process.communicate(timeout=60) == ("", "")
    assert process.returncode == 0


def test_an_unknown_fault_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    line = error(capsys, "db", "--memory", "--faults", "throttel=0.1")
    assert line.startswith("sortkey db: argument --faults: there is no fault 'throttel'; there are seed, throttle, ")


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_port_in_use(tmp_path: Path, capsys: pytest.CaptureFixture[str], workers: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        line = error(capsys, "db", "--data", tmp_path / "d", "--port", port, "--workers", workers)
    assert line == f"sortkey db: cannot listen on 127.0.0.1:{port}: Address already in use; choose another port\n"


# Anyone who reaches the port may do everything.
@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1"])
def test_without_keys_only_this_machine(capsys: pytest.CaptureFixture[str], host: str) -> None:
    assert "--keys" in error(capsys, "db", "--memory", "--host", host)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_folder_of_another_version(tmp_path: Path, capsys: pytest.CaptureFixture[str], workers: str) -> None:
    with lmdb.open(str(tmp_path), lib_version=1) as other, other.begin(write=True) as transaction:
        transaction.put(environment.FORMAT_KEY, b"999")
    line = error(capsys, "db", "--data", tmp_path, "--port", "0", "--workers", workers)
    assert "data format 999" in line


def test_a_folder_that_cannot_be(capsys: pytest.CaptureFixture[str]) -> None:
    assert "/dev/null/data" in error(capsys, "db", "--data", "/dev/null/data", "--port", "0")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--port", "x"],
        ["--port", "70000"],
        ["--memory", "--data", "d"],
        ["--memory", "--workers", "2"],
        ["--memory", "--workers", "0"],
        ["--memory", "--keys", "/dev/null/keys"],
        ["--memory", "--host", "no such host"],
        ["--memory", "--allow-host", "http://orders.example"],
        ["--memory", "--allow-host", "orders.example:443"],
        ["--memory", "--allow-host", "*.example"],
    ],
)
def test_wrong_arguments(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    error(capsys, "db", *arguments)


def test_a_profile_has_no_faults(capsys: pytest.CaptureFixture[str]) -> None:
    line = error(capsys, "db", "--memory", "--profile", "alternator", "--faults", "throttle=0.1")
    assert line == "sortkey db: --profile and --faults cannot be combined: start one endpoint with each\n"


# Sessions ask who answers, so that a program that needs more fails when it opens the store.
@pytest.mark.slow
def test_a_profile_is_known_by_its_server_header(alternator: str) -> None:
    with sk.client(alternator) as client:
        assert client.capabilities() == ALTERNATOR
    with pytest.raises(sk.Unsupported, match="needs transactions, which ScyllaDB Alternator does not have"):
        sk.connect(alternator, tables=[sk.Table("thing", transactions=True)])

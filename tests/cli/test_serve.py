"""`sortkey serve`, `sortkey up` and `sortkey token`: a mistake gives one line and exit code 2."""

from __future__ import annotations

import json
import signal
import socket
import stat
import subprocess
import sys
import urllib.request
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sortkey.cli.main import main
from sortkey.server import tokens
from tests.cli.test_db import error

SERVICE = "boosts"
SERVICES = {"boosts", "favourites", "goals", "pricing", "social"}
HASH = "0" * 64


def serve(*arguments: str | Path) -> tuple[str | Path, ...]:
    return ("serve", SERVICE, "--store", "memory:", "--port", "0", *arguments)


def test_an_unknown_service_gives_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    line = error(capsys, "serve", "bosts")
    assert "there is no service 'bosts'" in line
    assert all(name in line for name in SERVICES)


@pytest.mark.parametrize("port", ["--port", "--db-port"])
def test_a_port_in_use(tmp_path: Path, capsys: pytest.CaptureFixture[str], port: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = str(taken.getsockname()[1])
        ports = {"--port": "0", "--db-port": "0"} | {port: number}
        arguments = [argument for pair in ports.items() for argument in pair]
        try:
            code = main(["up", "--store", str(tmp_path), *arguments])
        except SystemExit as end:
            code = int(end.code or 0)
    printed = capsys.readouterr()
    assert (code, printed.out) == (2, "")
    assert (
        printed.err == f"sortkey up: cannot listen on 127.0.0.1:{number}: Address already in use; choose another port\n"
    )


# Anyone who reaches the port may do everything.
@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1"])
def test_without_tokens_only_this_machine(capsys: pytest.CaptureFixture[str], host: str) -> None:
    assert "--tokens" in error(capsys, *serve("--host", host))


def test_beyond_this_machine_the_endpoint_needs_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "tokens.toml"
    file.write_text(f'[a]\nsha256 = "{HASH}"\nscopes = ["{SERVICE}:read"]\n')
    file.chmod(0o600)
    line = error(capsys, "up", "--host", "0.0.0.0", "--port", "0", "--tokens", file, "--store", "memory:")
    assert "--keys" in line


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--store", "gopher://x"], "unknown scheme 'gopher'"),
        (["--store", "/dev/null/data"], "/dev/null/data"),
        pytest.param(["--store", "http://127.0.0.1:1"], "127.0.0.1:1", marks=pytest.mark.slow),  # it is tried again
        (["--config", "/dev/null/config"], "cannot read the configuration"),
        (["--tokens", "/dev/null/tokens"], "cannot read the tokens"),
        (["--access-log", "/dev/null/log"], "cannot write the access log"),
        (["--host", "no such host"], "cannot resolve the host"),
        (["--allow-host", "orders.example:443"], "is not a host name"),
        (["--port", "70000"], "70000"),
        (["--port", "x"], "invalid int"),
    ],
)
def test_wrong_arguments(capsys: pytest.CaptureFixture[str], arguments: list[str], expected: str) -> None:
    assert expected in error(capsys, *serve(*arguments))


def test_settings_that_the_service_does_not_take(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "sortkey.toml"
    config.write_text(f"[{SERVICE}]\nunheard-of = 3\n")
    assert "unheard-of" in error(capsys, *serve("--config", config))


class TestToken:
    def test_it_is_shown_once_and_kept_as_a_hash(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        file = tmp_path / "tokens.toml"
        made = []
        for name in ("search", "importer"):
            assert main(["token", name, f"{SERVICE}:read", "--tokens", str(file)]) == 0
            made.append(capsys.readouterr().out.strip())
        known = tokens.load(file, SERVICES)
        for token, name in zip(made, ("search", "importer"), strict=True):
            assert token not in file.read_text()
            asked: Any = SimpleNamespace(headers={b"authorization": b"Bearer " + token.encode()}, path="/", tenant=None)
            assert known.check(asked, f"{SERVICE}:read") == name
        assert stat.S_IMODE(file.stat().st_mode) == 0o600

    @pytest.mark.parametrize(
        ("name", "scope", "expected"),
        [
            ("a b", f"{SERVICE}:read", "not a token name"),
            ("a", "x:read", "unknown scope 'x:read'"),
            ("a", SERVICE, "unknown scope"),
        ],
    )
    def test_mistakes(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, scope: str, expected: str
    ) -> None:
        file = tmp_path / "tokens.toml"
        assert expected in error(capsys, "token", name, scope, "--tokens", file)
        assert not file.exists()

    def test_a_name_has_one_token(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        file = tmp_path / "tokens.toml"
        arguments = ["token", "search", f"{SERVICE}:read", "--tokens", str(file)]
        assert main(arguments) == 0
        capsys.readouterr()
        before = file.read_text()
        assert "already" in error(capsys, *arguments)
        assert file.read_text() == before


# As `make run` starts it: everything, on ./data.
@pytest.mark.slow
def test_up_needs_no_arguments(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "sortkey", "up", "--no-demo", "--port", "0", "--db-port", "0", "--access-log", "off"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    ready, url = process.stdout.readline().split()
    assert ready == "ready"
    with urllib.request.urlopen(f"{url}/openapi.json") as answer:
        served = {tag["name"] for tag in json.load(answer)["tags"]}
    assert served == SERVICES
    process.send_signal(signal.SIGTERM)
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output) == (0, "")
    assert errors.count("\n") == 1  # where the endpoint is
    assert (tmp_path / "data").is_dir()

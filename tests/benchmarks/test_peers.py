"""Peers: installed once, left out with a reason."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks._peers import PEERS, ServerDefinition, Unavailable, install_once
from benchmarks._server import Server


def touch(path: Path) -> list[str]:
    return [sys.executable, "-c", f"open({str(path)!r}, 'x').close()"]


def test_installs_once(tmp_path: Path) -> None:
    for _ in range(2):
        install_once(tmp_path / "peer", touch(tmp_path / "peer" / "file"))


# What a broken network left behind must not pass for a peer the next time.
def test_a_failed_installation_starts_over(tmp_path: Path) -> None:
    fail = [sys.executable, "-c", "import sys; sys.exit('no network')"]
    with pytest.raises(Unavailable, match="failed: no network"):
        install_once(tmp_path / "peer", touch(tmp_path / "peer" / "file"), fail)
    install_once(tmp_path / "peer", touch(tmp_path / "peer" / "file"))


@pytest.mark.parametrize("definition", PEERS, ids=lambda definition: definition.name)
def test_a_peer_that_the_machine_cannot_have_says_why(
    definition: ServerDefinition, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("SORTKEY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(Unavailable):
        definition.install()


def test_a_server_that_does_not_start_says_why(tmp_path: Path) -> None:
    definition = ServerDefinition(
        "broken", lambda: None, lambda *_: [sys.executable, "-c", "raise SystemExit('no room')"]
    )
    with pytest.raises(Unavailable, match="did not start: no room"):
        Server(definition, tmp_path / "broken")

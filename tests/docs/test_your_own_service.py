"""The page "Your own service in ten minutes": its commands, in a fresh environment, print what it says."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from sortkey.cli.new import write_project
from tests.test_install import wheel as wheel

PAGE: Final = (Path(__file__).parents[2] / "docs" / "learn" / "your-own-service.md").read_text(encoding="utf-8")
BLOCK: Final = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
CONSOLE: Final = [text for kind, text in BLOCK.findall(PAGE) if kind == "console"]
CODE: Final = [text for kind, text in BLOCK.findall(PAGE) if kind in ("python", "toml")]
PORT: Final = "8080"


def commands() -> Iterator[tuple[str, str]]:
    """Each command of the page, with what it prints."""
    for block in CONSOLE:
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield command, output


class Terminal:
    """Runs the commands of a reader, in the folder and the environment that earlier ones have left."""

    def __init__(self, folder: Path, packages: Path, wheels: Path) -> None:
        self._folder = self._start = folder
        self._packages = packages
        self._port = PORT
        self._environment = {
            "HOME": str(folder),
            "PATH": os.pathsep.join([str(packages.parent / "bin"), os.environ["PATH"]]),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_FIND_LINKS": str(wheels),
            "PIP_NO_BUILD_ISOLATION": "0",
            "PIP_NO_INDEX": "1",
        }
        self._server: subprocess.Popen[str] | None = None

    def run(self, command: str) -> str:
        command = command.replace(PORT, self._port)
        if command.startswith("sortkey serve"):
            return self._serve(command)
        activate = ". .venv/bin/activate; " if (self._start / ".venv").exists() else ""
        script = f"cd {self._start}; {activate}cd {self._folder}; {command} && pwd > {self._start}/.pwd"
        done = subprocess.run(
            ["bash", "-c", script], env=self._environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        self._folder = Path((self._start / ".pwd").read_text().strip())
        if "-m venv" in command:
            (site,) = (self._start / ".venv" / "lib").glob("python3*/site-packages")
            # First: venv's own setuptools is older than the locked one.
            (site / "locked.pth").write_text(f"import sys; sys.path.insert(0, {str(self._packages)!r})\n")
        return done.stdout.replace(self._port, PORT)

    def _serve(self, command: str) -> str:
        program, *arguments = command.split()
        path = self._start / ".venv" / "bin" / program
        self._server = subprocess.Popen(
            [path, *arguments, "--port", "0", "--access-log", "off"],
            cwd=self._folder,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._server.stdout is not None
        ready = self._server.stdout.readline()
        self._port = ready.strip().rpartition(":")[2]
        return ready.replace(self._port, PORT)

    def close(self) -> None:
        if self._server is not None:
            self._server.send_signal(signal.SIGTERM)
            assert self._server.communicate(timeout=60)[0] == ""
            assert self._server.returncode == 0
            self._server = None


@pytest.fixture
def terminal(tmp_path: Path, wheel: Path) -> Iterator[Terminal]:
    """With all that is locked, instead of what pip would fetch; Sortkey itself is installed as a reader would."""
    packages, programs, folder = tmp_path / "packages", tmp_path / "bin", tmp_path / "reader"
    for each in (packages, programs, folder):
        each.mkdir()
    for each in Path(sysconfig.get_path("purelib")).iterdir():
        if not each.name.startswith(("sortkey", "__editable__")) and each.suffix != ".pth":
            (packages / each.name).symlink_to(each)
    (programs / "python3").symlink_to(sys.executable)
    opened = Terminal(folder, packages, wheel.parent)
    yield opened
    opened.close()


def fits(output: str, shown: str) -> bool:
    """Whether an output is what the page shows, where an ellipsis stands for anything."""
    pattern = ".*".join(map(re.escape, shown.strip().split("…")))
    return re.fullmatch(pattern, output.strip(), re.DOTALL) is not None


@pytest.mark.slow
def test_the_commands_do_what_the_page_says(terminal: Terminal) -> None:
    for command, shown in commands():
        output = terminal.run(command)
        assert fits(output, shown), f"{command}\n{output}"


@pytest.mark.slow
def test_the_table_of_commands(terminal: Terminal) -> None:
    for command, _ in commands():
        if command.startswith("sortkey serve"):
            break
        terminal.run(command)
    for command in (
        "sortkey serve boosts notes",
        "sortkey serve notes.service:NOTES",
        "sortkey serve notes --no-follow",
    ):
        assert f"`{command}`" in PAGE
        assert terminal.run(command) == f"ready http://127.0.0.1:{PORT}\n"
        terminal.close()


def test_the_code_is_that_of_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_project("notes", tmp_path / "notes")
    written = "\n".join(file.read_text("utf-8") for file in (tmp_path / "notes").rglob("*") if file.is_file())
    assert [code for code in CODE if code not in written] == []

"""README's snippets and commands run as they stand."""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from sortkey.cli import job
from sortkey.cli.main import COMMANDS, parser
from sortkey.cli.services import registered_services, service_named

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS_PAGE = (ROOT / "docs" / "operate" / "commands.md").read_text(encoding="utf-8")
INSTALL_PAGE = (ROOT / "docs" / "learn" / "install.md").read_text(encoding="utf-8")
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])

SNIPPET = re.compile(r"^```python\n(.*?)^```\n(?:[^`]*?^```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)
CURL = re.compile(r"^```sh\n(curl .*?)\n```\n+```json\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
SHELL = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND_ROW = re.compile(r"^\| `sortkey ([\w-]+) ?(.*?)` \|", re.MULTILINE)
OPTION = re.compile(r"--[a-z-]+")


JOBS = ("batch", "load")
"""Commands whose arguments are those of a service's job."""


def job_parser(command: str, service: str) -> argparse.ArgumentParser:
    made = getattr(service_named(service), command)
    assert made is not None
    return job.parser_of(command, service, made)


def options(command: str) -> set[str]:
    if command in JOBS:
        parsers = [job_parser(command, each.name) for each in registered_services(print) if getattr(each, command)]
        return set.intersection(
            *({name for action in each._actions for name in action.option_strings} for each in parsers)
        )
    found = next(action for action in parser(command)._actions if isinstance(action, argparse._SubParsersAction))
    return {option for action in found.choices[command]._actions for option in action.option_strings}


# What is longer is not read.
def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 150


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of `sortkey up`, which `make run` starts, with its demo data."""
    command = [sys.executable, "-m", "sortkey", "up", "--port", "0", "--db-port", "0", "--access-log", "off"]
    folder = tmp_path_factory.mktemp("run")
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[1].removeprefix("http://")
        finally:
            process.terminate()


@pytest.mark.every_python
@pytest.mark.slow
def test_snippets_print_what_is_shown(tmp_path: Path) -> None:
    snippets = SNIPPET.findall(README)
    assert len(snippets) == README.count("```python")
    for number, (snippet, shown) in enumerate(snippets):
        program = tmp_path / f"snippet_{number}.py"
        program.write_text(snippet, encoding="utf-8")
        done = subprocess.run([sys.executable, program], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.stderr, done.stdout) == ("", shown)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_curl_lines_get_the_answers_shown(services: str) -> None:
    examples = CURL.findall(README)
    assert len(examples) == README.count("\ncurl ")
    for command, shown in examples:
        arguments = shlex.split(command.replace("localhost:8080", services))
        answer = subprocess.run(arguments, capture_output=True, text=True, check=True)
        assert answer.stdout == shown


def test_every_command_is_in_the_table_with_options_that_exist() -> None:
    rows = dict(COMMAND_ROW.findall(COMMANDS_PAGE))
    assert rows.keys() == COMMANDS.keys()
    for command, usage in rows.items():
        assert set(OPTION.findall(usage)) <= options(command), command


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_in_shell_blocks_parse(page: Path) -> None:
    blocks = SHELL.findall(page.read_text(encoding="utf-8"))
    for line in "".join(blocks).splitlines():
        if line.startswith("sortkey "):
            # A redirection is the shell's.
            _, command, *arguments = shlex.split(line.partition(" > ")[0], comments=True)
            # A command that does not parse exits.
            if command in JOBS:
                service, *arguments = arguments
                job_parser(command, service).parse_args(arguments)
            else:
                parser(command).parse_args([command, *arguments])


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^make (\w+)", "".join(SHELL.findall(README)), re.MULTILINE)
    assert targets
    assert [target for target in targets if not re.search(rf"^{target}:", makefile, re.MULTILINE)] == []


def test_every_extra_is_in_the_table() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    table = INSTALL_PAGE.partition("| extra |")[2].partition("\n\n")[0]
    named = {extra for row in table.splitlines()[2:] for extra in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert named == project["optional-dependencies"].keys() - {"dev", "docs", "test"}

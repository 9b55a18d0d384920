from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

import pytest

from sortkey.cli.main import main


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"sortkey {version('sortkey')}\n"


# Scripts distinguish "the check failed" (1) from "it could not run" (2), and people read one line.
@pytest.mark.parametrize("argv", [[], ["unheard-of"], ["--unheard-of"]])
def test_wrong_arguments_give_one_line_and_exit_code_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(argv)
    assert end.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_an_unknown_argument_of_a_command_names_the_help_of_that_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["check", "data", "--unheard-of"])
    assert capsys.readouterr().err == "sortkey check: unrecognized arguments: --unheard-of (see sortkey check --help)\n"


@pytest.mark.every_python
@pytest.mark.slow
def test_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "sortkey", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("sortkey ")

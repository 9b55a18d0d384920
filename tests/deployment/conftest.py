from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pytest

from tests.deployment import checkers
from tests.maven import REPOSITORY, Unavailable

SECONDS = 120


class Check(Protocol):
    def __call__(self, *arguments: str | Path) -> str:
        """What the program prints; it must find nothing."""


def checking(find: Callable[[], Path]) -> Check:
    try:
        program = find()
    except Unavailable as error:
        pytest.skip(str(error))

    def check(*arguments: str | Path) -> str:
        command = [str(program), *map(str, arguments)]
        done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=SECONDS)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    return check


@pytest.fixture(scope="session")
def hadolint() -> Check:
    return checking(lambda: checkers.packaged("hadolint"))


@pytest.fixture(scope="session")
def kubernetes_validate() -> Check:
    return checking(lambda: checkers.packaged("kubernetes-validate"))


@pytest.fixture(scope="session")
def check_jsonschema() -> Check:
    return checking(lambda: checkers.packaged("check-jsonschema"))


@pytest.fixture(scope="session")
def promtool() -> Check:
    return checking(checkers.promtool)


@pytest.fixture(scope="session")
def systemd_analyze() -> Check:
    return checking(lambda: checkers.system_program("systemd-analyze"))

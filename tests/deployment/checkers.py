"""The programs that check what `deploy/` has: found on this machine, or fetched once into the cache.

`python -m tests.deployment.checkers` fetches them before a test run.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.environments import environment
from tests.maven import REPOSITORY, Unavailable, cache_folder

REQUIREMENTS: Final = REPOSITORY / "requirements-deployment.txt"
FETCH_SECONDS: Final = 120


def packaged(name: str) -> Path:
    """One of those that PyPI has: hadolint, kubernetes-validate, check-jsonschema."""
    return environment("deployment", REQUIREMENTS) / "bin" / name


def promtool() -> Path:
    found = shutil.which("promtool")
    if found is not None:
        return Path(found)
    folder = cache_folder() / "promtool"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            fetched = subprocess.run(
                [REPOSITORY / "tools" / "promtool.sh", folder], capture_output=True, text=True, timeout=FETCH_SECONDS
            )
        except subprocess.TimeoutExpired as error:
            raise Unavailable(f"promtool was not fetched within {FETCH_SECONDS} s") from error
    if fetched.returncode:
        raise Unavailable(fetched.stderr.strip().rpartition("\n")[2] or "promtool could not be fetched")
    return folder / "promtool"


def system_program(name: str) -> Path:
    found = shutil.which(name)
    if found is None:
        raise Unavailable(f"{name} is not installed")
    return Path(found)


def main() -> int:
    wanted: dict[str, Callable[[], Path]] = {
        "hadolint, kubernetes-validate and check-jsonschema": lambda: packaged("hadolint").parent,
        "promtool": promtool,
    }
    missing = 0
    for name, fetch in wanted.items():
        try:
            sys.stdout.write(f"{name}: in {os.path.relpath(fetch())}.\n")
        except Unavailable as error:
            missing = 1
            sys.stderr.write(f"No {name}, so their checks of deploy/ will be skipped: {error}.\n")
    return missing


if __name__ == "__main__":
    sys.exit(main())

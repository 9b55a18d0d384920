"""ElectroDB, installed once by npm from its lock file into the cache; and the program that uses it.

`python -m tests.takeover.beside.node_packages` installs it before a test run.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from tests.maven import Unavailable, cache_folder

SOURCE: Final = Path(__file__).parent / "electrodb"
LOCKED: Final = ("package.json", "package-lock.json")
INSTALL_SECONDS: Final = 240


def install() -> Path:
    """The folder of the packages, which are installed if they are missing or have other versions."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            raise Unavailable(f"there is no {program}")
    folder = cache_folder() / "electrodb"
    folder.mkdir(parents=True, exist_ok=True)
    ready = folder / ".ready"
    wanted = blake2b(b"".join((SOURCE / name).read_bytes() for name in LOCKED)).hexdigest()
    # Test workers start together; one installs, the others wait for it.
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready.exists() or ready.read_text() != wanted:
            _install(folder)
            ready.write_text(wanted)
    return folder / "node_modules"


def _install(folder: Path) -> None:
    for name in LOCKED:
        shutil.copy(SOURCE / name, folder / name)
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=INSTALL_SECONDS)
    except subprocess.CalledProcessError as error:
        first_line = (error.stdout + error.stderr).strip().partition("\n")[0]
        raise Unavailable(f"npm could not install it: {first_line}") from error
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"npm did not install it in {INSTALL_SECONDS} s") from error


class NodeProgram:
    """`program.cjs`, which answers one line with one line."""

    def __init__(self, url: str, table: str) -> None:
        # The SDK warns of the versions of node that it will no longer support.
        command = ["node", "--no-warnings", str(SOURCE / "program.cjs"), url, table]
        environment = {**os.environ, "NODE_PATH": str(install())}
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )

    def call(self, name: str, **given: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"call": name, **given}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"node ended with status {self._process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["result"]

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


if __name__ == "__main__":
    try:
        sys.stdout.write(f"ElectroDB is in {install()}\n")
    except Unavailable as error:
        sys.stderr.write(f"no ElectroDB: {error}\n")
        sys.exit(1)

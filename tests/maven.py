"""Java programs that tests run against: fetched once by Maven, and gone with the process that started them."""

from __future__ import annotations

import fcntl
import os
import random
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

REPOSITORY: Final = Path(__file__).parents[1]
FETCH_SECONDS: Final = 240
SERVER_PORTS: Final = (15_000, 32_000)

# Java ends when the pipe to its guard closes, however the test process came to its end.
GUARD: Final = 'java "$@" </dev/null & java=$!; cat >/dev/null; kill "$java"; wait "$java"'


class Unavailable(Exception):
    """This machine cannot have it; the message says why."""


def version(pom: Path) -> str:
    """The version of the one thing that a pom asks for."""
    space = "{*}"
    found = ElementTree.parse(pom).findtext(f"{space}dependencies/{space}dependency/{space}version")
    if found is None:
        raise Unavailable(f"{pom.name} names no version")
    return found


def cache_folder() -> Path:
    return Path(os.environ.get("SORTKEY_CACHE", REPOSITORY / ".cache"))


def install(pom: Path, name: str) -> Path:
    """The folder of a program's jars, fetched when missing."""
    if shutil.which("java") is None:
        raise Unavailable("there is no java")
    cache = cache_folder() / name
    jars = cache / version(pom)
    if jars.is_dir():
        return jars
    cache.mkdir(parents=True, exist_ok=True)
    with _only_one(cache / "lock"):
        if not jars.is_dir():
            _fetch(pom, jars)
    return jars


def start(arguments: list[str], folder: Path, log: Path) -> subprocess.Popen[bytes]:
    """`java` with these arguments, under its guard; `stop` ends it."""
    with log.open("a") as output:
        return subprocess.Popen(
            ["sh", "-c", GUARD, "guard", *arguments],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            cwd=folder,
            start_new_session=True,
        )


def stop(guard: subprocess.Popen[bytes]) -> None:
    if guard.stdin is not None:
        guard.stdin.close()
    guard.wait()


def free_ports(number: int) -> list[int]:
    """As many, each another. They are below those that the system gives to outgoing connections, since their servers
    bind them seconds later."""
    found: list[int] = []
    with ExitStack() as held:
        while len(found) < number:
            port = random.randrange(*SERVER_PORTS)
            with suppress(OSError):
                held.enter_context(socket.create_server(("127.0.0.1", port)))
                found.append(port)
    return found


def free_port() -> int:
    return free_ports(1)[0]


@contextmanager
def _only_one(lock: Path) -> Iterator[None]:
    """Test workers start together; one fetches, the others wait for it."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _fetch(pom: Path, jars: Path) -> None:
    if shutil.which("mvn") is None:
        raise Unavailable("there is no Maven (mvn) to fetch it with")
    with tempfile.TemporaryDirectory(dir=jars.parent) as folder:
        fetched = Path(folder) / "jars"
        command = ["mvn", "--quiet", "--batch-mode", "--file", str(pom), "dependency:copy-dependencies"]
        try:
            subprocess.run(
                [*command, f"-DoutputDirectory={fetched}"],
                check=True,
                capture_output=True,
                text=True,
                timeout=FETCH_SECONDS,
            )
        except subprocess.CalledProcessError as error:
            first_line = (error.stdout + error.stderr).strip().partition("\n")[0]
            raise Unavailable(f"Maven could not fetch it: {first_line}") from error
        except subprocess.TimeoutExpired as error:
            raise Unavailable(f"Maven did not fetch it in {FETCH_SECONDS} s") from error
        fetched.rename(jars)

"""PostgreSQL: a server for the tests, on 127.0.0.1 and a free port, gone with the process that started it."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import psycopg

from tests.maven import Unavailable, free_port

START_SECONDS: Final = 90
DEBIAN: Final = Path("/usr/lib/postgresql")
ACCOUNTS: Final = ("postgres", "nobody")
"""PostgreSQL refuses to run as root; one of these runs it then."""

# The server ends when the pipe to its guard closes, however the test process came to its end.
GUARD: Final = '"$@" </dev/null & server=$!; cat >/dev/null; kill -INT "$server"; wait "$server"'
# What a crash would lose does not matter here. A text of the log tells why it did not start, so it is English.
SETTINGS: Final = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "16MB",
    "lc_messages": "C",
}


class ServerFailed(Exception):
    """PostgreSQL is installed but does not start: tests fail, and are not skipped."""


def programs() -> Path:
    """The folder of PostgreSQL's programs. Debian leaves `initdb` and `postgres` out of the path."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    versions = sorted(DEBIAN.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if not versions:
        raise Unavailable("PostgreSQL is not installed; tools/postgres.sh installs it")
    return versions[-1].parent


class PostgresServer:
    """One running server. `database` makes a database of its own for a test."""

    def __init__(self, folder: Path, settings: Mapping[str, str] = MappingProxyType({})) -> None:
        """`settings` are added to those of the tests, or take their place."""
        self._settings = {**SETTINGS, **settings}
        self._programs = programs()
        self._account = _account()
        self._data, self._log = folder / "data", folder / "log"
        self._numbers = count(1)
        self.port = free_port()
        if self._account:
            os.chown(folder, self._account["user"], self._account["group"])
        self._initialise()
        self._start()

    def database(self) -> str:
        """The URL of a new, empty database."""
        name = f"test_{next(self._numbers)}"
        with self._connect() as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return f"postgresql://postgres@127.0.0.1:{self.port}/{name}"

    def stop(self) -> None:
        if self._guard.stdin is not None:
            self._guard.stdin.close()
        self._guard.wait()

    def _initialise(self) -> None:
        options = ["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "--no-sync"]
        command = [str(self._programs / "initdb"), f"--pgdata={self._data}", *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=START_SECONDS, **self._account)
        if done.returncode != 0:
            raise ServerFailed(f"PostgreSQL's folder could not be made: {done.stderr.strip()[-500:]}")

    def _start(self) -> None:
        settings = [f"--{name}={value}" for name, value in self._settings.items()]
        server = [str(self._programs / "postgres"), "-D", str(self._data), "-p", str(self.port), *settings]
        with self._log.open("a") as output:
            self._guard = subprocess.Popen(
                ["sh", "-c", GUARD, "guard", *server],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                cwd=self._data,
                start_new_session=True,
                **self._account,
            )
        try:
            self._wait_until_ready()
        except ServerFailed:
            self.stop()
            raise

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            try:
                self._connect().close()
            except psycopg.OperationalError:
                time.sleep(0.05)  # it says nothing when it is ready; asked, it answers
            else:
                return
        raise ServerFailed(f"PostgreSQL did not start: {self._log.read_text().strip()[-500:]}")

    def _connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        return psycopg.connect(f"postgresql://postgres@127.0.0.1:{self.port}/postgres", autocommit=True)


def _account() -> dict[str, Any]:
    """Of the user that runs the server; nothing if this one may."""
    if os.getuid() != 0:
        return {}
    known = {each.pw_name: each for each in pwd.getpwall()}
    for name in ACCOUNTS:
        if name in known:
            return {"user": known[name].pw_uid, "group": known[name].pw_gid, "extra_groups": []}
    raise Unavailable(f"PostgreSQL does not run as root, and there is no user {' or '.join(ACCOUNTS)}")


@contextmanager
def running() -> Iterator[PostgresServer]:
    """In a folder that another user can enter; pytest's own are for one user."""
    with tempfile.TemporaryDirectory(prefix="sortkey-postgres-") as folder:
        server = PostgresServer(Path(folder))
        try:
            yield server
        finally:
            server.stop()

"""The AWS SDK for JavaScript v3, fetched by npm into the cache."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from hashlib import blake2b
from pathlib import Path

import pytest

from tests.wire.sdk.orders import orders
from tests.wire.serving import ServerProcess

HERE = Path(__file__).with_name("javascript")
REPOSITORY = HERE.parents[3]
FETCH_SECONDS = 240
PUBLISHED_BEFORE = "2026-11-08"


def cache_folder() -> Path:
    """One for each package.json, so that another version is fetched when it asks for one."""
    wanted = blake2b((HERE / "package.json").read_bytes(), digest_size=8).hexdigest()
    return Path(os.environ.get("SORTKEY_CACHE", REPOSITORY / ".cache")) / "javascript" / wanted


@pytest.fixture(scope="module")
def installed() -> Path:
    """A folder with the session and the packages that it imports."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("no node and npm")
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            shutil.copy(HERE / "package.json", folder)
            fetch(folder)
            (folder / "complete").touch()
        shutil.copy(HERE / "session.mjs", folder)
    return folder


def fetch(folder: Path) -> None:
    # The SDK's own packages ask for each other's newest versions; a date holds them all still.
    quietly = ["--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"]
    command = ["npm", "install", *quietly, f"--before={PUBLISHED_BEFORE}"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=FETCH_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm did not fetch the SDK in {FETCH_SECONDS} s")
    if done.returncode:
        pytest.skip(f"npm cannot fetch the SDK: {done.stderr.strip().splitlines()[:1]}")


@pytest.mark.slow
def test_session(server: ServerProcess, installed: Path) -> None:
    done = subprocess.run(
        ["node", "session.mjs", server.url, json.dumps(orders("javascript"))],
        cwd=installed,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr

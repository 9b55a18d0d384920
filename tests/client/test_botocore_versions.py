"""The remote client and `sk.testing.local` on the oldest and on the newest botocore that pyproject allows.

Each version is fetched once into the cache folder, and goes before the installed one on the path of the tests' process.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Final

import pytest

from tests.maven import REPOSITORY, cache_folder

TESTS: Final = (
    *("test_remote", "test_remote_formats", "test_fast_requests", "test_aws_access"),
    *("test_connections", "test_deadline", "test_paginators", "test_waiters"),
)
IN_PROCESS: Final = "tests/testing/test_interception.py"
OWN: Final = ("self", "AnyEmbeddedClient")
"""Objects whose private names are ours."""
FETCH_SECONDS: Final = 120
NEWEST_SECONDS: Final = 7 * 24 * 3600
"""After that long, a newer one is looked for."""


def lower_bound(package: str) -> str:
    """The oldest version that pyproject allows."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    declared = [*project["dependencies"], *project["optional-dependencies"]["aws"]]
    (found,) = [match for each in declared if (match := re.match(rf"{package}>=([\d.]+)", each))]
    bound = found[1]
    return bound + ".0" * (2 - bound.count("."))


def fetched(name: str, wanted: list[str], seconds: float | None = None) -> Path:
    """A folder with these packages, and no others. Skips the test if they cannot be had."""
    folder = cache_folder() / "botocore" / name
    if folder.is_dir() and (seconds is None or time.time() - folder.stat().st_mtime < seconds):
        return folder
    fresh = folder.with_name(f"{name}.{os.getpid()}")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(fresh), *wanted]
    done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_SECONDS, check=False)
    if done.returncode == 0:
        shutil.rmtree(folder, ignore_errors=True)
        fresh.rename(folder)
    elif not folder.is_dir():
        pytest.skip(f"pip cannot install {' '.join(wanted)}: {done.stderr.strip().splitlines()[-1]}")
    return folder


def run_tests(folder: Path, *selected: str) -> str:
    """Run TESTS with the packages of the folder; the version of botocore that they had."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}
    version = [sys.executable, "-c", "import botocore; print(botocore.__version__)"]
    found = subprocess.run(version, env=environment, capture_output=True, text=True, check=True).stdout.strip()
    files = [*(f"tests/client/{name}.py" for name in TESTS), IN_PROCESS]
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *files, *selected]
    done = subprocess.run(command, env=environment, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"botocore {found}:\n{done.stdout[-5000:]}{done.stderr[-2000:]}"
    return found


# What botocore does not show may change with any version. Its events and its public names do not.
def test_no_private_name_of_botocore_is_used() -> None:
    sources = (REPOSITORY / "src/sortkey").glob
    for path in [*sources("client/*.py"), *sources("testing/*.py")]:
        text = path.read_text()
        if path.name != "prefixed.py" and "botocore" in text:
            attributes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute)]
            private = [node for node in attributes if node.attr.startswith("_") and not node.attr.startswith("__")]
            assert [ast.unparse(node) for node in private if ast.unparse(node.value) not in OWN] == [], path.name


@pytest.mark.slow
def test_the_oldest() -> None:
    botocore, aiobotocore = lower_bound("botocore"), lower_bound("aiobotocore")
    wanted = [f"botocore=={botocore}", f"boto3=={botocore}", f"aiobotocore=={aiobotocore}"]
    folder = fetched("-".join([botocore, aiobotocore]), wanted)
    assert run_tests(folder, "-m", "not oracle") == botocore


# aiobotocore follows botocore some weeks later, so the async client is not run here. The installed aiobotocore is its
# newest, and all other tests run on it.
@pytest.mark.slow
def test_the_newest() -> None:
    folder = fetched("newest", ["botocore", "boto3"], NEWEST_SECONDS)
    run_tests(folder, "-m", "not oracle", "-k", "not async")

"""The tests that docs/guides/testing.md shows pass on every store, and fail for a program that is wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.files import write_files

# Both put the same order: the second fails unless the first one's is gone.
EMPTIED = """
import pytest

import sortkey as sk
from shop import Order


@pytest.mark.parametrize("time", [1, 2])
def test_each_test_starts_empty(emptied: sk.Session, time: int) -> None:
    assert emptied.put(Order(customer="ada", number=1), if_absent=True)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files of the page."""
    write_files("guides/testing.md", tmp_path)
    (tmp_path / "test_emptied.py").write_text(EMPTIED, encoding="utf-8")
    return tmp_path


def run(folder: Path, *options: str) -> str:
    """What pytest prints, without the settings of the pytest that runs this."""
    plugins = ("-p", "no:cacheprovider", "-p", "anyio", "-p", "pytest_sortkey")
    command = [sys.executable, "-m", "pytest", "-q", *plugins, *options, "."]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # loading them takes longer than the tests
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)
    return done.stdout + done.stderr


@pytest.mark.parametrize("store", ["memory", "our_endpoint", pytest.param("dynamodb_local", marks=pytest.mark.oracle)])
@pytest.mark.slow
def test_they_pass(store: str, folder: Path, request: pytest.FixtureRequest) -> None:
    options = [] if store == "memory" else ["--store", request.getfixturevalue(store)]
    assert "\n12 passed" in run(folder, *options)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("right", "wrong", "failed"),
    [
        ('if_version="revision"', "if_absent=False", "test_an_order_that_was_changed_meanwhile_is_not_paid"),
        ("except sk.DeadlineExceeded", "except sk.CursorError", "test_a_late_store_does_not_make_the_page_fail"),
        ("list(db.iterate(Order.by_status(status", "list(db.scan(Order, where=dict(status", "test_waiting_orders_are"),
    ],
    ids=["condition", "deadline", "cost"],
)
def test_they_fail_for_a_wrong_program(right: str, wrong: str, failed: str, folder: Path) -> None:
    program = folder / "shop.py"
    text = program.read_text(encoding="utf-8")
    assert right in text
    program.write_text(text.replace(right, wrong), encoding="utf-8")
    printed = run(folder)
    assert f"FAILED test_shop.py::{failed}" in printed
    assert "1 failed, 11 passed" in printed

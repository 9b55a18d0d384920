"""What every test family shares: its markers by folder, the options, Hypothesis's profile."""

from __future__ import annotations

import atexit
import gc
import os
from collections.abc import Generator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from sortkey.cli import services
from tests.kafka.fixtures import broker, start_worker
from tests.object_storage import bucket, s3_server
from tests.passing_time import brief_polls
from tests.postgres.fixtures import postgres, postgres_url
from tests.registered import installed
from tests.store_runs import leave_out_unsupported, write_store_run
from tests.stores import NAMES, alternator, choose_stores, dynamodb_local, dynoxide, is_on, our_endpoint, store

# A fixture of the whole run that several modules import starts its server once for each of them, so only this one does.
__all__ = [
    "alternator",
    "brief_polls",
    "broker",
    "bucket",
    "dynamodb_local",
    "dynoxide",
    "our_endpoint",
    "postgres",
    "postgres_url",
    "s3_server",
    "start_worker",
    "store",
]

TESTS = Path(__file__).parent
MARKED_FOLDERS = ("oracle", "faults", "browser")
MARKED_FIXTURES = {"broker": "kafka", "postgres": "postgres", "s3_server": "slow"}
"""moto takes seconds to begin."""
OBJECTS = 10_000
"""New ones, after which the garbage collector looks at them; by default 700."""

# A busy machine makes a single example slow, which says nothing about the code.
settings.register_profile(
    "sortkey", deadline=None, print_blob=True, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
# `make quick` tries fewer examples of each property; HYPOTHESIS_PROFILE=thorough tries many, by hand.
settings.register_profile("quick", settings.get_profile("sortkey"), max_examples=5)
settings.register_profile("thorough", settings.get_profile("sortkey"), max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "sortkey"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--endpoint",
        metavar="URL",
        help="compare with this DynamoDB endpoint instead of DynamoDB Local (use with -n 0; its tables are removed)",
    )

    parser.addoption("--store", choices=NAMES, help="run all tests of stores on this one, and no others")
    parser.addoption("--store-run", metavar="FILE", help="note there how many tests of each family passed on --store")


def pytest_configure() -> None:
    vars(services)["entry_points"] = installed


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    choose_stores(metafunc)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if item.config.getoption("--store") is not None:
        leave_out_unsupported(report, call)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    file = config.getoption("--store-run")
    if file is not None:
        write_store_run(Path(file), config.getoption("--store"), terminalreporter.stats)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A folder is its marker, and so is the need of some fixtures: no test can forget it."""
    asked = config.getoption("--store")
    if asked is not None:
        config.hook.pytest_deselected(items=[item for item in items if not is_on(item, asked)])
        items[:] = [item for item in items if is_on(item, asked)]
    folder_of = cache(_folder_of)
    for item in items:
        folder = folder_of(item.path)
        if folder is None:
            continue
        for fixture, marker in MARKED_FIXTURES.items():
            if fixture in getattr(item, "fixturenames", ()):
                item.add_marker(marker)
        if folder in MARKED_FOLDERS:
            item.add_marker(folder)


def _folder_of(path: Path) -> str | None:
    """None for a test of a test, which is elsewhere."""
    return path.relative_to(TESTS).parts[0] if TESTS in path.parents else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Thousands of tests stay until the end: the garbage collector need not look at them again and again. Of what the
    tests make, little stays: it looks less often than usual, which saves a tenth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(OBJECTS)


# DuckDB reports what is not collected at the end as leaks. Not earlier: pytest itself collects five times before.
atexit.register(gc.unfreeze)

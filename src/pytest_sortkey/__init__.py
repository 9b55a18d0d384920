"""A pytest plugin: boto3 clients and sessions on a store in the process, as fixtures. See docs/guides/testing.md.

pytest imports it wherever Sortkey is installed, so it imports nothing else until a test asks for a fixture: Sortkey and
boto3 take half a second.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, Final, Literal

import pytest

Scope = Literal["function", "module", "session"]

SCOPES: Final[tuple[Scope, ...]] = ("function", "module", "session")
FAULTS: Final = "sortkey_faults"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("sortkey_scope", "how long Sortkey's store lives: function, module or session", default=SCOPES[0])


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{FAULTS}(**faults): the test's store has these sk.testing.Faults")


def _scope(fixture_name: str, config: pytest.Config) -> Scope:
    chosen = config.getini("sortkey_scope")
    for scope in SCOPES:
        if scope == chosen:
            return scope
    raise pytest.UsageError(f"sortkey_scope must be one of {', '.join(SCOPES)}, not {chosen!r} ({fixture_name})")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test cannot give faults to a store that others use, too."""
    if "sortkey_db" not in getattr(item, "fixturenames", ()):
        return
    scope = _scope("sortkey_db", item.config)
    if scope == "function":
        return
    owner = item.getparent(pytest.Module if scope == "module" else pytest.Session)
    shared = [] if owner is None else list(owner.iter_markers(FAULTS))
    if any(marker not in shared for marker in item.iter_markers(FAULTS)):
        pytest.fail(f"with sortkey_scope = {scope}, tests share a store: mark the whole {scope} with {FAULTS}", False)


@pytest.fixture(scope="session")
def sortkey_tables() -> Sequence[Any]:
    """The tables of the store: override it with your `sk.Table`s, or classes."""
    return ()


@pytest.fixture(scope=_scope)
def sortkey_db(request: pytest.FixtureRequest, sortkey_tables: Sequence[Any]) -> Iterator[Any]:
    """An `sk.Session` of a new store in memory, with `sortkey_tables`. Until its end, every DynamoDB client in the
    process uses the store."""
    testing = import_module("sortkey.testing")
    marker = request.node.get_closest_marker(FAULTS)
    faults = None if marker is None else testing.Faults(*marker.args, **marker.kwargs)
    with testing.local(*sortkey_tables, faults=faults) as session:
        yield session


@pytest.fixture(scope=_scope)
def dynamodb_client(sortkey_db: Any) -> Any:
    """`boto3.client("dynamodb")`, on the store of `sortkey_db`."""
    assert sortkey_db is not None
    return import_module("boto3").client("dynamodb")


@pytest.fixture(scope=_scope)
def dynamodb(sortkey_db: Any) -> Any:
    """`boto3.resource("dynamodb")`, on the store of `sortkey_db`."""
    assert sortkey_db is not None
    return import_module("boto3").resource("dynamodb")

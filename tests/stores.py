"""The stores that the suites above `engine` run on, each by its URL.

Endpoints serve all tests of a worker, so each test has a prefix of its own there. All tests of the fixture `store` run
on `STORES`, and those marked `every_store` on `OTHER_STORES`, too: they are chosen so that each service and each
pattern uses there what it needs. `--store NAME` runs all tests of the fixture on one store, and those alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import wraps
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy

from sortkey.client.stores import Capabilities
from tests.dynoxide import Dynoxide
from tests.maven import Unavailable
from tests.oracle.endpoint import Endpoint
from tests.oracle.local import DynamoDBLocal
from tests.wire.serving import ServerProcess

STORES = (
    "memory",
    *(pytest.param(name, marks=pytest.mark.slow) for name in ("disk", "endpoint")),
    pytest.param("local", marks=pytest.mark.oracle),
)
"""`make quick` runs the tests in memory only."""
OTHER_STORES = tuple(pytest.param(name, marks=pytest.mark.slow) for name in ("alternator", "dynoxide"))
NAMES: Final = ("memory", "disk", "endpoint", "local", "alternator", "dynoxide")
NAMESPACE = "sortkey"
"""The access key id of sessions that have no other. DynamoDB Local has tables of its own for each."""

MEMORY: Final = "memory:"

NOT_FROM_NOW_ON: Final = {
    "alternator": "a feed from now on has no position in a shard that had no change since",
    "dynoxide": "an open shard has an EndingSequenceNumber, as closed ones have, so a feed from now on skips it",
}
"""Why it does not hold there that what was before such a feed neither comes again nor is missed."""


def given_on_stores(**strategies: SearchStrategy[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """`given`, for a test of the fixture `store`. Stores other than memory repeat what it has shown, and so try a third
    as many examples."""

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        def trying(examples: int) -> Callable[..., None]:
            checks = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
            return settings(max_examples=examples, suppress_health_check=checks)(given(**strategies)(test))

        examples = settings().max_examples
        in_memory, elsewhere = trying(examples), trying(max(1, examples // 3))

        @wraps(in_memory)
        def run(store: str, **fixtures: Any) -> None:
            (in_memory if store == MEMORY else elsewhere)(**fixtures)

        signature = inspect.signature(in_memory)
        stored = inspect.Parameter("store", inspect.Parameter.KEYWORD_ONLY)
        run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), stored])  # type: ignore[attr-defined]
        return run

    return decorate


@pytest.fixture(scope="session")
def our_endpoint() -> Iterator[str]:
    process = ServerProcess("--memory")
    yield process.url
    assert process.stop() == 0


@pytest.fixture(scope="session")
def dynamodb_local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One for each test worker: a second Java process costs less than sharing one."""
    try:
        local = DynamoDBLocal(tmp_path_factory.mktemp("dynamodb-local") / "log")
    except Unavailable as error:
        pytest.skip(f"no DynamoDB Local: {error}")
    yield local.url
    local.close()


@pytest.fixture(scope="session")
def alternator() -> Iterator[str]:
    """Our endpoint, with the profile."""
    process = ServerProcess("--memory", "--profile", "alternator")
    yield process.url
    assert process.stop() == 0


@pytest.fixture(scope="session")
def dynoxide(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    try:
        running = Dynoxide(tmp_path_factory.mktemp("dynoxide") / "log")
    except Unavailable as error:
        pytest.skip(f"no Dynoxide: {error}")
    yield running.url
    running.close()


ENDPOINTS: Final = {
    "endpoint": "our_endpoint",
    "local": "dynamodb_local",
    "alternator": "alternator",
    "dynoxide": "dynoxide",
}
"""The fixture of each."""


def choose_stores(metafunc: pytest.Metafunc) -> None:
    """Parametrizes a test of the fixture below; for `pytest_generate_tests`."""
    definitions = metafunc._arg2fixturedefs.get("store", ())
    if not definitions or definitions[-1].baseid != "tests" or _names_stores(metafunc):
        return
    asked = metafunc.config.getoption("--store")
    others = () if metafunc.definition.get_closest_marker("every_store") is None else OTHER_STORES
    metafunc.parametrize("store", [*STORES, *others] if asked is None else [asked], indirect=True)


def _names_stores(metafunc: pytest.Metafunc) -> bool:
    return any(mark.args[0] == "store" for mark in metafunc.definition.iter_markers("parametrize"))


def is_on(item: pytest.Item, asked: str) -> bool:
    """Whether a test runs on this store by the fixture's choice: those that name their stores are of memory."""
    chosen = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    return chosen.get("store") == asked


@pytest.fixture
def store(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of an empty store, for each of STORES."""
    prefix = f"t{blake2b(request.node.nodeid.encode(), digest_size=8).hexdigest()}-"
    if request.param == "memory":
        yield MEMORY
    elif request.param == "disk":
        folder: Path = request.getfixturevalue("tmp_path")
        yield f"file:{folder / 'data'}"
    else:
        endpoint = request.getfixturevalue(ENDPOINTS[request.param])
        yield f"{endpoint}?prefix={prefix}"
        _drop_tables(endpoint, prefix)


def needs(capabilities: Capabilities, name: str) -> None:
    """Leaves a test out on a store that lacks what the test is about."""
    if not getattr(capabilities, name):
        pytest.skip(f"needs {name.replace('_', ' ')}")


def _drop_tables(url: str, prefix: str) -> None:
    """With a thousand tables, our endpoint takes half a second of processor time for each new one, and DynamoDB Local
    half a minute for each new index."""
    endpoint = Endpoint(url, namespace=NAMESPACE)
    names = endpoint.call("ListTables", {"ExclusiveStartTableName": prefix})["TableNames"]
    endpoint.drop(name for name in names if name.startswith(prefix))
    endpoint.close()

"""The stores that the suites above `engine` run on, each by its URL.

Endpoints serve all tests of a worker, so each test has a prefix of its own there.
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
NAMESPACE = "sortkey"
"""The access key id of sessions that have no other. DynamoDB Local has tables of its own for each."""

MEMORY: Final = "memory:"


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


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of an empty store, for each of STORES."""
    prefix = f"t{blake2b(request.node.nodeid.encode(), digest_size=8).hexdigest()}-"
    if request.param == "memory":
        yield MEMORY
    elif request.param == "disk":
        folder: Path = request.getfixturevalue("tmp_path")
        yield f"file:{folder / 'data'}"
    else:
        endpoint = request.getfixturevalue("dynamodb_local" if request.param == "local" else "our_endpoint")
        yield f"{endpoint}?prefix={prefix}"
        _drop_tables(endpoint, prefix)


def _drop_tables(url: str, prefix: str) -> None:
    """With a thousand tables, our endpoint takes half a second of processor time for each new one, and DynamoDB Local
    half a minute for each new index."""
    endpoint = Endpoint(url, namespace=NAMESPACE)
    names = endpoint.call("ListTables", {"ExclusiveStartTableName": prefix})["TableNames"]
    endpoint.drop(name for name in names if name.startswith(prefix))
    endpoint.close()

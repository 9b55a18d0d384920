"""The stores that the suites above `engine` run on, each by its URL.

Endpoints serve all tests of a worker, so each test has a prefix of its own there.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

import pytest

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
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of an empty store, for each of STORES."""
    prefix = f"t{blake2b(request.node.nodeid.encode(), digest_size=8).hexdigest()}-"
    if request.param == "memory":
        yield "memory:"
    elif request.param == "disk":
        yield f"file:{tmp_path / 'data'}"
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

"""The oracle: DynamoDB Local, or the DynamoDB endpoint that --endpoint names."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b

import pytest

from tests.oracle.endpoint import Endpoint
from tests.oracle.local import DynamoDBLocal, OracleUnavailable


@pytest.fixture(scope="session")
def dynamodb_local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DynamoDBLocal]:
    """One for each test worker: a second Java costs less than sharing one between processes."""
    try:
        local = DynamoDBLocal(tmp_path_factory.mktemp("dynamodb-local") / "log")
    except OracleUnavailable as error:
        pytest.skip(f"no DynamoDB Local: {error}")
    yield local
    local.close()


@pytest.fixture
def oracle(request: pytest.FixtureRequest) -> Iterator[Endpoint]:
    """An endpoint without any tables; what a test makes there, no other test sees."""
    url = request.config.getoption("--endpoint")
    if url is None:
        local: DynamoDBLocal = request.getfixturevalue("dynamodb_local")
        namespace = blake2b(request.node.nodeid.encode(), digest_size=10).hexdigest()
        endpoint = Endpoint(local.url, namespace)
    else:
        endpoint = Endpoint(url)
    yield endpoint
    if url is not None:
        endpoint.drop_tables()
    endpoint.close()

"""The oracle (DynamoDB Local, or the DynamoDB endpoint of --endpoint) and the database that is compared with it."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b

import pytest

from tests.oracle.both import Both
from tests.oracle.differences import DIFFERENCES
from tests.oracle.endpoint import Endpoint
from tests.oracle.pair import Pair, Side
from tests.oracle.tables import ORDERS, PLAIN


@pytest.fixture
def oracle(request: pytest.FixtureRequest) -> Iterator[Endpoint]:
    """An endpoint without tables, which other tests do not see."""
    url = request.config.getoption("--endpoint")
    if url is None:
        endpoint = Endpoint(request.getfixturevalue("dynamodb_local"), _namespace(request))
    else:
        endpoint = Endpoint(url)
    yield endpoint
    endpoint.drop_tables()
    endpoint.close()


def _namespace(request: pytest.FixtureRequest) -> str:
    """DynamoDB Local keeps a database, and threads for it, for every access key that it has seen; with thousands it
    becomes very slow. So tests share one, except those that leave more than tables behind.
    """
    if request.node.get_closest_marker("own_namespace") is None:
        return "shared"
    return blake2b(request.node.nodeid.encode(), digest_size=10).hexdigest()


@pytest.fixture
def ours(request: pytest.FixtureRequest) -> Iterator[Side]:
    """Our database, through both of its interfaces at once; through each in turn with `in_turn`."""
    side = getattr(request, "param", Both)()
    yield side
    side.close()


@pytest.fixture
def pair(request: pytest.FixtureRequest, ours: Side, oracle: Endpoint) -> Pair:
    """The known differences are those of DynamoDB Local; another endpoint must agree in everything."""
    known = DIFFERENCES if request.config.getoption("--endpoint") is None else ()
    return Pair(ours, oracle, known)


@pytest.fixture
def plain(pair: Pair) -> Pair:
    """With the table `plain` on both sides."""
    pair.create(PLAIN)
    return pair


@pytest.fixture
def orders(pair: Pair) -> Pair:
    """With the table `orders` on both sides."""
    pair.create(ORDERS)
    return pair

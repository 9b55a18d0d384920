"""Any body to a fast route is taken exactly when it fits the route's type, and its names can be parts of keys."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import AsyncExitStack

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sortkey.server.middleware import Middleware
from tests.server.calling import Answer, call
from tests.server.conftest import notes_in_memory
from tests.server.notes import Search

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=10,
)
# Near enough to what is wanted that each field is right, wrong or missing now and then.
SEARCHES = st.fixed_dictionaries(
    {},
    optional={
        "names": JSON | st.lists(st.text(max_size=5), max_size=101),
        "limit": JSON | st.integers(-2, 5),
        "other": JSON,
    },
)
BODIES = st.binary(max_size=40) | (JSON | SEARCHES).map(lambda value: json.dumps(value).encode())


class Served:
    """One app for all examples."""

    def __init__(self, runner: asyncio.Runner, middleware: Middleware) -> None:
        self._runner = runner
        self._middleware = middleware

    def search(self, body: bytes) -> Answer:
        return self._runner.run(call(self._middleware, "POST", "/notes/s/search", body))


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        _, app = runner.run(stack.enter_async_context(notes_in_memory()))
        yield Served(runner, app())
        runner.run(stack.aclose())


def accepted(body: bytes) -> bool:
    try:
        search = msgspec.json.decode(body, type=Search)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    # Names are parts of keys, which are not empty and have no U+10FFFF.
    return all(name and "\U0010ffff" not in name for name in search.names)


@given(body=BODIES)
@example(body=b'{"names":[""]}')
@example(body='{"names":["\U0010ffff"]}'.encode())
def test_it_is_taken_exactly_when_it_fits(served: Served, body: bytes) -> None:
    answer = served.search(body)
    if accepted(body):
        assert (answer.status, answer.json()) == (200, {"texts": []})
    else:
        assert answer.status == 400
        assert answer.error["code"] in ("invalid_request", "malformed_json")
        assert answer.error["message"]

"""The benchmark of remote stores, on a scale that is small enough for a test."""

from __future__ import annotations

import asyncio
from time import perf_counter

import pytest

from benchmarks._latency_proxy import delayed
from benchmarks.remote import Sizes, measure
from tests.oracle.endpoint import Endpoint
from tests.stores import NAMESPACE

SMALL = Sizes(rows=60, persons=20, prices=80, changes=50, timers=10, latencies=(1.0,), stores=("endpoint",))


# Each work asserts that it has done all. The bare requests leave the same rows, so they are no more than ours.
@pytest.mark.slow
def test_all_works_are_measured() -> None:
    found = list(measure(SMALL))
    requests = [each for each in found if each.name == "  requests"]
    assert len(requests) == 5
    assert all(each.bare is not None and each.value >= 0.8 * each.bare > 0 for each in requests)
    assert all(each.value > 0 for each in found)


@pytest.mark.slow
def test_the_proxy_delays_and_keeps_the_order(our_endpoint: str) -> None:
    with delayed(our_endpoint, 0.1) as far:
        endpoint = Endpoint(far, NAMESPACE)
        endpoint.call("ListTables", {})
        began = perf_counter()
        endpoint.call("ListTables", {})
        assert perf_counter() - began >= 0.1
        endpoint.close()
        asyncio.run(_in_order(far))


async def _in_order(far: str) -> None:
    """Many small pieces come back as one answer."""
    host, _, port = far.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    for piece in (b"GET /hea", b"lth HTTP", b"/1.1\r\nHo", b"st: 127.0.0.1\r", b"\n\r\n"):
        writer.write(piece)
        await writer.drain()
    assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
    writer.close()
    await writer.wait_closed()

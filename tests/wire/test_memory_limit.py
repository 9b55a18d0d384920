"""A process whose address space is limited: it rejects requests before the limit, and never dies of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random
from threading import Event
from time import monotonic
from typing import Any

import pytest

from tests.wire.conftest import Serve
from tests.wire.serving import RawClient, item, request, table

pytestmark = pytest.mark.slow

LIMIT_BYTES = 850 << 20
"""The process takes 700 MiB when it starts, 512 of them for the map."""
CLIENTS = 16
SECONDS = 4.0
LONGEST = 60.0
"""Seconds until the first request is rejected, on a machine that is busy with others."""
ITEMS = 500


def scan(_: Random) -> bytes:
    return request("Scan", {"TableName": "orders"})


def get(random: Random) -> bytes:
    return request("GetItem", {"TableName": "orders", "Key": item(random.randrange(ITEMS))})


def put(random: Random) -> bytes:
    """Of tiny values, which take much more memory than their text."""
    return request("PutItem", _put(random, {"values": {"L": [{"N": "1"}] * 30_000}}))


def put_batch(random: Random) -> bytes:
    numbers = random.sample(range(ITEMS), 25)
    puts = [{"PutRequest": {"Item": item(number) | {"text": {"S": "x" * 60_000}}}} for number in numbers]
    return request("BatchWriteItem", {"RequestItems": {"orders": puts}})


def _put(random: Random, attributes: dict[str, Any]) -> dict[str, Any]:
    return {"TableName": "orders", "Item": item(random.randrange(ITEMS)) | attributes}


REQUESTS: tuple[Callable[[Random], bytes], ...] = (scan, scan, get, put, put_batch)


def statuses(url: str, rejected: Event, began: float, number: int) -> Counter[int]:
    random = Random(number)
    found: Counter[int] = Counter()
    with closing(RawClient(url)) as client:
        while monotonic() - began < (SECONDS if rejected.is_set() else LONGEST):
            client.send(random.choice(REQUESTS)(random))
            found[status := client.answer().status] += 1
            if status != 200:
                rejected.set()
    return found


@pytest.mark.timeout(120)
def test_every_request_is_answered_and_none_of_them_wrongly(tmp_path: Path, serve: Serve) -> None:
    server = serve("--data", tmp_path, address_space=LIMIT_BYTES)
    with closing(RawClient(server.url)) as client:
        client.call("CreateTable", **table("orders"))
        ask = partial(statuses, server.url, Event(), monotonic())
        with ThreadPoolExecutor(CLIENTS) as threads:
            found = sum(threads.map(ask, range(CLIENTS)), Counter[int]())
        assert found.keys() == {200, 503}
        # There is room again.
        client.call("PutItem", TableName="orders", Item=item(1))
    assert server.process.poll() is None

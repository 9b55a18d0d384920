"""Writes rows into the target, a bounded number of requests at once, under a rate."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from botocore.exceptions import ClientError

from sortkey.client.interface import Client, InProcessPuts
from sortkey.clock import monotonic
from sortkey.copies.row_form import Row, RowForm
from sortkey.limits import BATCH_WRITE_REQUESTS
from sortkey.model.calls.steps import THROTTLED, code_of
from sortkey.model.maintenance.long_work import UnitRate

REQUESTS: Final = 16
"""At once, at most."""
COMMIT_ROWS: Final = 500
"""Of a store in the process."""

_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 5.0


T = TypeVar("T")


def chunks(elements: Sequence[T], most: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(elements), most):
        yield elements[start : start + most]


class Stopped(Exception):
    """The copy was asked to stop."""


class RowWriter:
    """`put` and `delete` return when the rows are durable. Any number of threads may call them."""

    def __init__(self, client: Client, rate: float | None, stopping: threading.Event) -> None:
        """`rate` is in write units a second."""
        self._client = client
        self._rate = None if rate is None else UnitRate(rate, monotonic)
        self._lock = threading.Lock()
        self._stopping = stopping
        self._pool = ThreadPoolExecutor(REQUESTS, "sortkey-copy-write")

    def close(self) -> None:
        self._pool.shutdown()

    def put(self, table: str, rows: Sequence[Row], form: RowForm) -> None:
        """Rows with different keys."""
        for turn in [rows] if self._rate is None else self._paced(rows, form, self._rate):
            puts = self._client.in_process_puts
            if puts is not None:
                self._commit(puts, table, turn)
            else:
                self._send(table, [{"PutRequest": {"Item": row}} for row in turn])

    def delete(self, table: str, keys: Sequence[Row]) -> None:
        self._send(table, [{"DeleteRequest": {"Key": key}} for key in keys])

    def _paced(self, rows: Sequence[Row], form: RowForm, rate: UnitRate) -> Iterator[Sequence[Row]]:
        for some in chunks(rows, BATCH_WRITE_REQUESTS):
            with self._lock:
                pause = rate.pause()
                rate.took(sum(map(form.units, some)))
            self._wait(pause)
            yield some

    def _commit(self, puts: Callable[[], InProcessPuts], table: str, rows: Sequence[Row]) -> None:
        for some in chunks(rows, COMMIT_ROWS):
            group = puts()
            for row in some:
                group.add(table, row)
            group.submit().answer.result()

    def _send(self, table: str, writes: Sequence[dict[str, Any]]) -> None:
        if len(writes) <= BATCH_WRITE_REQUESTS:
            self._write_all(table, writes)
            return
        sent = [self._pool.submit(self._write_all, table, some) for some in chunks(writes, BATCH_WRITE_REQUESTS)]
        for each in sent:
            each.result()

    def _write_all(self, table: str, writes: Sequence[dict[str, Any]]) -> None:
        left = list(writes)
        pause = _FIRST_PAUSE
        while left:
            before = len(left)
            try:
                answer = self._client.batch_write_item(RequestItems={table: left})
            except ClientError as error:
                if code_of(error) not in THROTTLED:
                    raise
            else:
                left = answer.get("UnprocessedItems", {}).get(table, [])
            if left:
                pause = _FIRST_PAUSE if len(left) < before else min(2 * pause, _LONGEST_PAUSE)
                self._wait(pause)

    def _wait(self, seconds: float) -> None:
        if seconds > 0 and self._stopping.wait(seconds):
            raise Stopped

"""One table's work in chunks: look for it in a snapshot, then do one chunk per write transaction.

The table may be dropped between the two, so each finds it anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

from sortkey.clock import let_others_run
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables.core import Core
from sortkey.engine.tables.table import Table
from sortkey.storage import Transaction

Element = TypeVar("Element")

ELEMENTS_PER_TURN: Final = 32
"""Handling so many rows takes a tenth of a millisecond."""

Look = Callable[[Transaction, Table, float], bool]
"""Whether there is work in a table, as a snapshot shows it, at a time."""

Chunk = Callable[[Core, WriteBatch, Table], None]
"""One transaction's work on a table. It checks again whether there is any: another process may have done it."""


def in_turn(elements: Iterable[Element]) -> Iterator[Element]:
    """The elements; the threads that answer requests run in between."""
    for number, element in enumerate(elements, 1):
        yield element
        if number % ELEMENTS_PER_TURN == 0:
            let_others_run()


def has_work(core: Core, table_name: str, look: Look) -> bool:
    with core.read() as snapshot:
        table = core.catalog.find(snapshot, table_name)
        return table is not None and look(snapshot, table, core.clock.now())


def write_chunk(core: Core, table_name: str, chunk: Chunk) -> None:
    def work(batch: WriteBatch) -> None:
        table = core.catalog.find(batch.transaction, table_name)
        if table is not None:
            chunk(core, batch, table)

    core.store.write(work)

"""What the two sessions share: how a store is opened, how long calls may take, what is metered."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final, Generic, TypeVar

import msgspec

from sortkey.client.boto3_shapes import Unparsed, to_dynamodb_json
from sortkey.client.capabilities import Capabilities
from sortkey.client.interface import AnyClient, InProcessReads
from sortkey.model.errors import DeadlineExceeded
from sortkey.model.items.item import Item
from sortkey.model.keys.each import Each
from sortkey.model.keys.key import BoundKey
from sortkey.model.keys.key_layout import TextKeys
from sortkey.model.paths.access_path import Path
from sortkey.model.paths.explain import Explanation, explain
from sortkey.model.paths.meter import Meter
from sortkey.model.sessions.context import Context
from sortkey.model.sessions.found_items import item_of, items_by_key
from sortkey.model.sessions.steps import Pacing
from sortkey.model.tables import provision
from sortkey.model.tables.table import Table
from sortkey.values.key_product import KeyProduct

C = TypeVar("C", bound=AnyClient[Any])
T = TypeVar("T")
R = TypeVar("R")
S = TypeVar("S", bound=msgspec.Struct)
Wanted = Sequence[Mapping[str, Any]] | Each

SECRET_VARIABLE: Final = "SORTKEY_CURSOR_SECRET"
TIMEOUT: Final = 30.0
PARALLEL: Final = 16
"""Requests that one call has under way at a time."""

_PROCESS_SECRET: Final = secrets.token_bytes(32)
"""For whoever sets none: cursors are then good for as long as the process lives."""


@dataclass(frozen=True, slots=True)
class Options:
    tables: tuple[Table, ...]
    secret: bytes
    timeout: float | None
    pacing: Pacing

    def context(self, store: Capabilities) -> Context:
        """Raises Unsupported if the store lacks what a declaration needs."""
        provision.require(self.tables, store)
        return Context(store, Meter(), self.pacing, self.secret)


def options(
    tables: Iterable[type[Item] | Table], secret: str | bytes | None, timeout: float | None, pacing: Pacing
) -> Options:
    chosen = secret if secret is not None else os.environ.get(SECRET_VARIABLE)
    key = _PROCESS_SECRET if not chosen else chosen.encode() if isinstance(chosen, str) else chosen
    return Options(provision.tables_of(tables), key, timeout, pacing)


class SessionBase(Generic[C]):
    """A client, and what calls through it know."""

    def __init__(self, client: C, context: Context, settings: Options) -> None:
        self.client = client
        """The low-level client underneath, for what the model does not say."""
        self._context = context
        self._options = settings
        self._in_process: InProcessReads | None = client.in_process_reads

    @property
    def meter(self) -> Meter:
        """What each access path has cost so far."""
        return self._context.meter

    @property
    def capabilities(self) -> Capabilities:
        """What the store can do."""
        return self._context.capabilities

    def explain(
        self,
        path: Path[Any],
        *,
        rows: int | None = None,
        row_bytes: int | None = None,
        sample: Sequence[Item] = (),
        consistent: bool = False,
    ) -> Explanation:
        """The request of a path, its index, and its cost, from the rows told, or sampled, or measured so far."""
        measured = self.meter.reading(path.name)
        path = self._context.here(path)
        return explain(path, measured, rows=rows, row_bytes=row_bytes, sample=sample, consistent=consistent)

    def _get(self, store: InProcessReads, path: Path[T], consistent: bool) -> T | None:
        """`get` in the process, where there is nothing to wait for: not as steps, which would cost as much as the
        read. Raises ClientError for what may have to be tried again."""
        key = path.key()
        started = perf_counter()
        stored, units = store.get_unparsed(path.table, to_dynamodb_json(key) if path.layout.binary else key, consistent)
        seconds = perf_counter() - started
        if stored is None:
            self._context.meter.add(path.name, 0, 0, units, seconds)
            return None
        self._context.meter.add(path.name, 1, 1, units, seconds)
        # The key is one of this class, so the row is.
        item: T = item_of(path.schema, stored)
        return item

    def _lookup(
        self, store: InProcessReads, key: BoundKey[S], wanted: Wanted, consistent: bool
    ) -> list[S | None] | None:
        """`lookup` in the process, as `_get` is; None for keys that are not two texts."""
        pairs = _text_keys(key, wanted)
        stored = self._stored(store, key, _distinct(pairs), consistent, gaps=False)
        return None if stored is None else list(map(items_by_key(key.schema, stored).get, pairs))

    def _lookup_as(
        self, store: InProcessReads, key: BoundKey[Any], wanted: Wanted, read: Callable[[bytes], list[R]]
    ) -> list[R] | None:
        pairs = _text_keys(key, wanted)
        distinct = _distinct(pairs)
        stored = self._stored(store, key, distinct, consistent=False, gaps=True)
        if stored is None:
            return None
        rows = read(stored.text)
        if len(distinct) == len(pairs):
            return rows
        found = dict(zip(distinct, rows, strict=True))
        return [found[pair] for pair in pairs]

    def _stored(
        self, store: InProcessReads, key: BoundKey[Any], pairs: TextKeys, consistent: bool, gaps: bool
    ) -> Unparsed | None:
        if not pairs:
            return None
        started = perf_counter()
        found = store.lookup_unparsed(key.schema.table, pairs, consistent, gaps)
        if found is None:
            return None
        stored, count, units = found
        self._context.meter.add(key.name, count, count, units, perf_counter() - started)
        return stored

    def _tables(self, declared: Sequence[type[Item] | Table]) -> tuple[Table, ...]:
        return provision.tables_of(declared) if declared else self._options.tables

    def _deadline(self) -> float | None:
        timeout = self._options.timeout
        return None if timeout is None else self._options.pacing.now() + timeout

    def _check_time(self, deadline: float | None, ahead: float) -> None:
        """Raises DeadlineExceeded if there is not so much time left."""
        if deadline is not None and self._options.pacing.now() + ahead > deadline:
            raise self._late()

    def _late(self) -> DeadlineExceeded:
        return DeadlineExceeded(f"not done within {self._options.timeout:g} s")


def listed(keys: Iterable[Mapping[str, Any]]) -> Wanted:
    """The keys that a call is given, to be looked at more than once."""
    return keys if isinstance(keys, Each) else list(keys)


def _text_keys(key: BoundKey[Any], wanted: Wanted) -> TextKeys:
    """The keys as pairs of texts; none if they are not."""
    return key.layout.text_keys(wanted) or ()


def _distinct(pairs: TextKeys) -> TextKeys:
    return pairs if isinstance(pairs, KeyProduct) and pairs.distinct else dict.fromkeys(pairs)

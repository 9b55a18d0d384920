"""What the sync and the async session have in common: options, and calls that send nothing."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from sortkey.client.interface import AnyClient
from sortkey.client.stores import Capabilities
from sortkey.clock import Clock, SystemClock
from sortkey.model.items.item import Item
from sortkey.model.paths.access_path import AccessPath
from sortkey.model.paths.explain import Explanation, explain
from sortkey.model.paths.meter import Meter
from sortkey.model.sessions.fast_reads import FastReads
from sortkey.model.sessions.steps import Context, Pacing
from sortkey.model.tables import provision
from sortkey.model.tables.table import Table

C = TypeVar("C", bound=AnyClient[Any])

SECRET_VARIABLE: Final = "SORTKEY_CURSOR_SECRET"
TIMEOUT: Final = 30.0
PARALLEL: Final = 16
"""Requests that one call sends at the same time."""

_PROCESS_SECRET: Final = secrets.token_bytes(32)
"""The default: cursors are then valid as long as the process lives."""


@dataclass(frozen=True, slots=True)
class Options:
    tables: tuple[Table, ...]
    secret: bytes
    timeout: float | None
    pacing: Pacing
    clock: Clock

    def __post_init__(self) -> None:
        if not (self.timeout is None or isinstance(self.timeout, (int, float))):
            raise TypeError(f"a timeout is a number of seconds, or None, not {self.timeout!r}")
        if not isinstance(self.secret, bytes):
            raise TypeError(f"secret must be a text or bytes, not {type(self.secret).__name__}")
        if not callable(getattr(self.clock, "now", None)):
            raise TypeError(f"clock must have a method now, which returns seconds since 1970; {self.clock!r} has none")

    def context(self, store: Capabilities) -> Context:
        """Raises Unsupported if the store lacks what a declaration needs."""
        provision.require_support(self.tables, store)
        return Context(store, Meter(), self.pacing, self.secret, self.clock)


def options(
    tables: Iterable[type[Item] | Table],
    secret: str | bytes | None,
    timeout: float | None,
    pacing: Pacing,
    clock: Clock | None = None,
) -> Options:
    chosen = secret if secret is not None else os.environ.get(SECRET_VARIABLE)
    key = _PROCESS_SECRET if not chosen else chosen.encode() if isinstance(chosen, str) else chosen
    return Options(provision.tables_of(tables), key, timeout, pacing, clock or SystemClock())


class AnySession(Generic[C]):
    def __init__(self, client: C, context: Context, settings: Options) -> None:
        self.client = client
        """The low-level client, for requests outside the model."""
        self._context = context
        self._options = settings
        reads = client.in_process_reads
        self._fast = None if reads is None else FastReads(reads, context.meter)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.client.meta.endpoint_url!r}>"

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
        path: AccessPath[Any],
        *,
        rows: int | None = None,
        row_bytes: int | None = None,
        sample: Sequence[Item] = (),
        consistent: bool = False,
    ) -> Explanation:
        """The request for a path, its index and its cost. The cost is computed from the rows and bytes given, from a
        sample of items, or from what the meter has measured."""
        path = self._context.adapt(path)
        return explain(
            path, self.meter.reading(path.name), rows=rows, row_bytes=row_bytes, sample=sample, consistent=consistent
        )

    def _tables(self, declared: Sequence[type[Item] | Table]) -> tuple[Table, ...]:
        return provision.tables_of(declared) if declared else self._options.tables

"""The rules that events are enriched with: remembered, and read again while events come.

A database that does not answer must not hide deposits: the rules that were read last stay in use, and the log says so.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from sortkey_services.goals.rules import Rules, RulesError

_logger = logging.getLogger(__name__)


class CurrentRules:
    def __init__(
        self,
        read: Callable[[], Rules],
        refresh_seconds: float,
        patience_seconds: float,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`read` may block; it runs in a thread. An event waits for it no longer than `patience_seconds`."""
        self._read = read
        self._patience_seconds = patience_seconds
        self._refresh_seconds = refresh_seconds
        self._now = now
        self._rules: Rules | None = None
        self._asked: float | None = None
        self._reading: asyncio.Task[None] | None = None
        self._is_away = False
        """Whether the database failed, or took too long, when it was asked last: then no event waits for it."""

    async def get(self) -> Rules | None:
        """The rules, at most `refresh_seconds` old if the database answers; None if they could not be read yet. When
        the database is back, the event that finds it still gets what there was."""
        if self._reading is None and (self._asked is None or self._now() - self._asked >= self._refresh_seconds):
            self._asked = self._now()
            self._reading = asyncio.create_task(self._refresh())
        if self._reading is not None and not self._is_away:
            # One that takes longer goes on, and a later event has what it reads.
            done, _ = await asyncio.wait({self._reading}, timeout=self._patience_seconds)
            for read in done:
                read.result()
            if not done:
                self._is_away = True
        return self._rules

    async def _refresh(self) -> None:
        try:
            self._rules = await asyncio.to_thread(self._read)
            self._is_away = False
        except RulesError as error:
            self._is_away = True
            kept = "the rates of the last batch" if self._rules is None else "the rules as they were read before"
            _logger.warning("%s; events get %s", error, kept)
        finally:
            self._reading = None

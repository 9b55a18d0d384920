"""`sk.feeds.ChangeFeed`: a consumer of a table's changes, before a store is open."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, Final, Generic, Literal, TypeVar

from sortkey.feeds.shards.dead_letter import DeadLetter
from sortkey.model.calls.change import Change, ChangeReader
from sortkey.model.errors import DeclarationError
from sortkey.model.items.item import Item
from sortkey.model.items.table import Table

ItemT = TypeVar("ItemT", bound=Item)

Start = Literal["horizon", "now"] | datetime

MAX_BATCH: Final = 1000
ATTEMPTS: Final = 5

_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,100}")


class ChangeFeed(Generic[ItemT]):
    """Calls `on_changes` with every change of the items of a class, or of a table, at least once.

        async def on_changes(changes: Sequence[sk.Change[Order]]) -> None:
            for change in changes:
                print(change.kind, change.new)

        ORDERS = sk.feeds.ChangeFeed("order-printer", Order, on_changes)

    A call has changes of one shard, in their order, so the changes of one item come in order. The calls of one shard
    follow each other. A change may come again, after a call that raised and when another process takes over.

    `name` identifies the feed in the store: processes with the same name share the work, and a feed continues where it
    stopped. `start` counts when the feed is started for the first time: "horizon" begins with the oldest changes that
    the stream has, a day old at most; "now" with those to come; a datetime with those since then.
    A call gets up to `max_batch` changes; it waits up to `max_wait` seconds for more.
    A batch that raised `attempts` times is divided until the change that raises is found. That one goes to the dead
    letters, and `dead_letters`, if given, is called with it too. With `attempts=None` it is tried for ever. Errors of
    the store and the network do not count.
    """

    def __init__(
        self,
        name: str,
        of: type[ItemT] | Table,
        on_changes: Callable[[Sequence[Change[ItemT]]], Awaitable[None]],
        *,
        start: Start = "horizon",
        max_batch: int = MAX_BATCH,
        max_wait: float = 0.0,
        attempts: int | None = ATTEMPTS,
        dead_letters: Callable[[DeadLetter], Awaitable[None]] | None = None,
    ) -> None:
        self.name = name
        self.of = of
        self.on_changes = on_changes
        self.start = start
        self.max_batch = max_batch
        self.max_wait = max_wait
        self.attempts = attempts
        self.dead_letters = dead_letters
        self.reader = ChangeReader(of)
        self.table: Table = of if isinstance(of, Table) else of.__table__
        self._reject_wrong()

    def __repr__(self) -> str:
        return f"<change feed {self.name} of {self.table.name}>"

    def _reject_wrong(self) -> None:
        name, given, wait = _anything(self.name), _anything(self.start), _anything(self.max_wait)
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise DeclarationError(
                "the name of a change feed has 1 to 100 letters, digits, dots, dashes and underscores, "
                f"not {self.name!r}"
            )
        if self.table.settings.stream is None:
            raise DeclarationError(
                f"change feed {self.name}: table {self.table.name} has no stream; declare it as "
                f'sk.Table("{self.table.name}", stream="NEW_AND_OLD_IMAGES")'
            )
        if given not in ("horizon", "now") and not (isinstance(given, datetime) and given.tzinfo is not None):
            raise DeclarationError(
                f'change feed {self.name}: start is "horizon", "now" or a datetime with a time zone, not {given!r}'
            )
        for what, number, least in (("max_batch", self.max_batch, 1), ("attempts", self.attempts, 1)):
            if not (number is None and what == "attempts") and (not isinstance(number, int) or number < least):
                raise DeclarationError(f"change feed {self.name}: {what} is a number from {least} on, not {number!r}")
        if not isinstance(wait, (int, float)) or wait < 0:
            raise DeclarationError(f"change feed {self.name}: max_wait is a number of seconds, not {wait!r}")


def _anything(given: Any) -> Any:
    """An argument that may have another type than the one that is declared."""
    return given

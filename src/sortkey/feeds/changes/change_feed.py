"""`sk.feeds.ChangeFeed`: a consumer of a table's changes, before a store is open."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, Final, Generic, Literal, TypeVar

from sortkey.feeds.shards.dead_letter import DeadLetter
from sortkey.feeds.shards.outages import ATTEMPTS, IN_A_ROW, ErrorNames, failure_rule
from sortkey.model.calls.arguments import require_async
from sortkey.model.calls.change import Change, ChangeReader
from sortkey.model.errors import DeclarationError
from sortkey.model.items.item import Item
from sortkey.model.items.table import Table

ItemT = TypeVar("ItemT", bound=Item)

Start = Literal["horizon", "now"] | datetime

MAX_BATCH: Final = 1000

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
    A batch that raised `attempts` times is divided until the change that raises is found. If that one raises `attempts`
    times and the next one does not, it goes to the dead letters, and `dead_letters`, if given, is called with it too.
    An outage is waited for: an error of a connection, a time limit or a lock, or any error of `in_a_row` changes one
    after the other. With `attempts=None` every error is. `outages` and `poison` name further exceptions, as classes or
    as texts, such as "httpx.ReadTimeout": those that are outages, and those that send a change to the dead letters at
    once. See docs/guides/change-feeds.md.
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
        in_a_row: int = IN_A_ROW,
        outages: ErrorNames = (),
        poison: ErrorNames = (),
        dead_letters: Callable[[DeadLetter], Awaitable[None]] | None = None,
    ) -> None:
        self.name = name
        self.of = of
        self.on_changes = on_changes
        self.start = start
        self.max_batch = max_batch
        self.max_wait = max_wait
        self.dead_letters = dead_letters
        self.reader = ChangeReader(of)
        self.table: Table = of if isinstance(of, Table) else of.__table__
        self._reject_wrong()
        self.rule = failure_rule(f"change feed {name}", attempts, in_a_row, outages, poison)
        """What is done with changes that raise."""
        require_async(f"change feed {name}: on_changes", on_changes)
        if dead_letters is not None:
            require_async(f"change feed {name}: dead_letters", dead_letters)

    def __repr__(self) -> str:
        return f"<change feed {self.name} of {self.table.name}>"

    def _reject_wrong(self) -> None:
        name, given, wait = _anything(self.name), _anything(self.start), _anything(self.max_wait)
        most = _anything(self.max_batch)
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
        if not isinstance(most, int) or most < 1:
            raise DeclarationError(f"change feed {self.name}: max_batch is a number from 1 on, not {most!r}")
        if not isinstance(wait, (int, float)) or wait < 0:
            raise DeclarationError(f"change feed {self.name}: max_wait is a number of seconds, not {wait!r}")


def _anything(given: Any) -> Any:
    """An argument that may have another type than the one that is declared."""
    return given

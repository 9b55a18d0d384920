"""Raises and lifts fences on the tables of a source.

Sortkey's own stores have fences (`engine/tables/fence.py`): a tag, which every write finds in its transaction. For
others there is a row, at which Sortkey's clients look (`client/fence_watch.py`); it is announced, and then waited for.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import UTC, datetime
from time import sleep
from typing import Final
from urllib.parse import quote

import msgspec

from sortkey.client.fence_watch import FENCES, FENCES_KEY, LOOK, LOOK_SECONDS, WATCH_SECONDS, FenceRow
from sortkey.client.interface import Client
from sortkey.copies.errors import CopyRefused
from sortkey.copies.table_shape import TableShape, description_of, wait_until_ready
from sortkey.engine.tables.fence import FENCE_TAG

FENCE_SECONDS: Final = 30.0
"""A fence falls by itself after so long, if whoever raised it is gone."""
WATCHED_SECONDS: Final = 300.0
"""How long clients watch closely once a fence is announced."""

_MOST_CHARACTERS: Final = 200


class Fences(ABC):
    @property
    @abstractmethod
    def is_exact(self) -> bool:
        """Whether it stops every writer, and none of its writes may still be under way behind the fence."""

    @abstractmethod
    def announce(self, tables: Sequence[TableShape], stopping: threading.Event) -> None:
        """Prepare writers, and wait until they are."""

    @abstractmethod
    def close(self, tables: Sequence[TableShape]) -> None:
        """Fence tables for a moment; returns when it holds."""

    @abstractmethod
    def move(self, tables: Sequence[TableShape], to: str) -> None:
        """Fence tables for good."""

    @abstractmethod
    def lift(self, tables: Sequence[TableShape]) -> None:
        """Let tables take writes again."""

    @abstractmethod
    def is_moved(self, table: TableShape) -> bool:
        """Whether it is fenced for good."""


def fences_of(client: Client) -> Fences:
    return TagFences(client) if client.capabilities().fences else RowFences(client)


class TagFences(Fences):
    @property
    def is_exact(self) -> bool:
        return True

    def __init__(self, client: Client) -> None:
        self._client = client

    def announce(self, tables: Sequence[TableShape], stopping: threading.Event) -> None:
        """Nothing needs to be known before."""

    def close(self, tables: Sequence[TableShape]) -> None:
        self._tag(tables, f"until {_now() + FENCE_SECONDS:.3f}")

    def move(self, tables: Sequence[TableShape], to: str) -> None:
        # What a tag may have; options of a URL follow a question mark, which it may not.
        place = quote(to.partition("?")[0], safe=" /:=+-@._")[:_MOST_CHARACTERS].replace("%", "_")
        self._tag(tables, f"moved to {place}")

    def lift(self, tables: Sequence[TableShape]) -> None:
        for table in tables:
            self._client.untag_resource(ResourceArn=table.arn, TagKeys=[FENCE_TAG])

    def is_moved(self, table: TableShape) -> bool:
        tags = self._client.list_tags_of_resource(ResourceArn=table.arn)["Tags"]
        return any(tag["Key"] == FENCE_TAG and tag["Value"].startswith("moved") for tag in tags)

    def _tag(self, tables: Sequence[TableShape], value: str) -> None:
        for table in tables:
            self._client.tag_resource(ResourceArn=table.arn, Tags=[{"Key": FENCE_TAG, "Value": value}])


class RowFences(Fences):
    @property
    def is_exact(self) -> bool:
        return False

    def __init__(self, client: Client) -> None:
        self._client = client

    def announce(self, tables: Sequence[TableShape], stopping: threading.Event) -> None:
        if any(table.arn.rpartition("/")[2] != table.name for table in tables):
            raise CopyRefused(
                "a cut-over from such a store takes no ?prefix=: clients look at the fences of the whole store. Give "
                "FROM without it, and the whole names of the tables with --tables"
            )
        if description_of(self._client, FENCES) is None:
            self._client.create_table(
                TableName=FENCES,
                KeySchema=[{"AttributeName": FENCES_KEY, "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": FENCES_KEY, "AttributeType": "S"}],
                BillingMode="PAY_PER_REQUEST",
            )
        wait_until_ready(self._client, FENCES)
        row = self._row()
        if row.watch_until < _now() + FENCE_SECONDS:
            row.watch_until = _now() + WATCHED_SECONDS
            self._save(row)
            stopping.wait(LOOK_SECONDS + 2 * WATCH_SECONDS)

    def close(self, tables: Sequence[TableShape]) -> None:
        row = self._row()
        row.until |= {table.name: _now() + FENCE_SECONDS for table in tables}
        self._save(row)
        sleep(2 * WATCH_SECONDS)

    def move(self, tables: Sequence[TableShape], to: str) -> None:
        row = self._row()
        row.moved |= {table.name: f"moved to {to}" for table in tables}
        self._save(row)

    def lift(self, tables: Sequence[TableShape]) -> None:
        if description_of(self._client, FENCES) is None:
            return
        row = self._row()
        for table in tables:
            row.until.pop(table.name, None)
            row.moved.pop(table.name, None)
        self._save(row)

    def is_moved(self, table: TableShape) -> bool:
        return description_of(self._client, FENCES) is not None and table.name in self._row().moved

    def _row(self) -> FenceRow:
        item = self._client.get_item(**LOOK).get("Item")
        return FenceRow() if item is None else msgspec.json.decode(item["state"]["S"], type=FenceRow)

    def _save(self, row: FenceRow) -> None:
        state = msgspec.json.encode(row).decode()
        self._client.put_item(TableName=FENCES, Item={**LOOK["Key"], "state": {"S": state}})


def _now() -> float:
    return datetime.now(UTC).timestamp()

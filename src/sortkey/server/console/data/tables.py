"""The tables of the store: declared and found."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from sortkey.clock import monotonic
from sortkey.server.console.access import Viewer
from sortkey.server.console.data.declared import Declared
from sortkey.server.console.routes import Message, Nothing, Route, Routes
from sortkey.server.console.store import StoreError, StoreRequests

KEPT_SECONDS: Final = 5.0
"""For which a description is shown again; item counts change all the time."""
AT_ONCE: Final = 8
"""Tables that are described at the same time."""


class KeyAttribute(Message):
    name: str
    type: str
    role: str


class IndexShown(Message):
    name: str
    local: bool
    key: list[KeyAttribute]
    projection: str | list[str]
    items: int
    bytes: int
    status: str


class TableShown(Message):
    name: str
    declared: bool
    service: str | None
    status: str
    items: int
    bytes: int
    key: list[KeyAttribute]
    indexes: list[IndexShown]
    stream: str | None
    ttl: str | None
    classes: list[str]
    editable: bool


class TablesShown(Message):
    tables: list[TableShown]


class Description:
    """A table as the store describes it."""

    def __init__(self, table: Mapping[str, Any], ttl: str | None) -> None:
        self.table = table
        self.ttl = ttl
        self.at = monotonic()
        types = {each["AttributeName"]: each["AttributeType"] for each in table["AttributeDefinitions"]}
        self.key = _key(table["KeySchema"], types)
        self.key_names = tuple(each.name for each in self.key)
        self.indexes = [
            _index(each, local, types)
            for member, local in (("GlobalSecondaryIndexes", False), ("LocalSecondaryIndexes", True))
            for each in table.get(member, ())
        ]
        self.items: int = table.get("ItemCount", 0)
        self.bytes: int = table.get("TableSizeBytes", 0)
        self.stream: str | None = table.get("StreamSpecification", {}).get("StreamViewType")

    def index(self, name: str | None) -> IndexShown | None:
        return next((each for each in self.indexes if each.name == name), None)

    def is_partial(self, index: str | None) -> bool:
        found = self.index(index)
        return found is not None and found.projection != "ALL"

    def row_bytes(self, index: str | None = None) -> int:
        """The mean size of a row; 0 if nothing is known."""
        found = self.index(index)
        items, size = (self.items, self.bytes) if found is None else (found.items, found.bytes)
        return round(size / items) if items else 0

    def rows(self, index: str | None = None) -> int:
        found = self.index(index)
        return self.items if found is None else found.items


class TableBook:
    def __init__(self, store: StoreRequests, declared: Declared) -> None:
        self._store = store
        self._declared = declared
        self._known: dict[str, Description] = {}

    def routes(self) -> Routes:
        return {"tables": Route(Nothing, self.tables)}

    async def tables(self, viewer: Viewer, _: Nothing) -> TablesShown:
        names = [name for name in await self._names() if viewer.sees(name)]
        self._known = {name: each for name, each in self._known.items() if name in names}
        slots = asyncio.Semaphore(AT_ONCE)

        async def describe(name: str) -> TableShown | None:
            async with slots:
                try:
                    return self._shown(viewer, await self.describe(name))
                except StoreError as error:
                    # It was deleted meanwhile.
                    if error.code != "ResourceNotFoundException":
                        raise
                    return None

        shown = await asyncio.gather(*map(describe, names))
        return TablesShown([each for each in shown if each is not None])

    async def _names(self) -> list[str]:
        names: list[str] = []
        members: dict[str, Any] = {}
        while True:
            answer = await self._store.call(None, "ListTables", members)
            names += answer["TableNames"]
            if "LastEvaluatedTableName" not in answer:
                return names
            members = {"ExclusiveStartTableName": answer["LastEvaluatedTableName"]}

    async def describe(self, name: str) -> Description:
        """Raises StoreError if there is no such table."""
        known = self._known.get(name)
        if known is not None and monotonic() - known.at < KEPT_SECONDS:
            return known
        table = (await self._store.call(None, "DescribeTable", {"TableName": name}))["Table"]
        # Rarely changes, so the table's creation time says whether it is another table.
        if known is not None and known.table.get("CreationDateTime") == table.get("CreationDateTime"):
            ttl = known.ttl
        else:
            ttl = await self._ttl(name)
        found = self._known[name] = Description(table, ttl)
        return found

    async def _ttl(self, name: str) -> str | None:
        try:
            answer = await self._store.call(None, "DescribeTimeToLive", {"TableName": name})
        except StoreError:
            # A store without TTL, or one that does not let us ask.
            return None
        attribute: str | None = answer["TimeToLiveDescription"].get("AttributeName")
        return attribute

    def _shown(self, viewer: Viewer, found: Description) -> TableShown:
        name = found.table["TableName"]
        declared = self._declared.tables.get(name)
        return TableShown(
            name,
            declared is not None,
            self._declared.service_of(name),
            found.table["TableStatus"],
            found.items,
            found.bytes,
            found.key,
            found.indexes,
            found.stream,
            found.ttl,
            [] if declared is None else [schema.name for schema in declared.schemas],
            viewer.edits(name),
        )


def _key(schema: list[dict[str, str]], types: Mapping[str, str]) -> list[KeyAttribute]:
    return [KeyAttribute(each["AttributeName"], types[each["AttributeName"]], each["KeyType"]) for each in schema]


def _index(shape: Mapping[str, Any], local: bool, types: Mapping[str, str]) -> IndexShown:
    projection = shape["Projection"]
    kind = projection["ProjectionType"]
    return IndexShown(
        shape["IndexName"],
        local,
        _key(shape["KeySchema"], types),
        projection.get("NonKeyAttributes", []) if kind == "INCLUDE" else kind,
        shape.get("ItemCount", 0),
        shape.get("IndexSizeBytes", 0),
        shape.get("IndexStatus", "ACTIVE"),
    )

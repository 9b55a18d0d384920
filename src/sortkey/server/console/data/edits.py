"""Edits: a row is written or deleted under the condition that it is as it was shown.

The page sends back the mark of what it has shown. The server reads the row again, consistently, and compares; then it
writes under a condition on every attribute that it has read, so that a change in between loses nobody's work. A dry run
does all but the write.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson

from sortkey.client.boto3_shapes import convert_member, to_dynamodb_json
from sortkey.limits import EXPRESSION_BYTES, EXPRESSION_OPERATORS
from sortkey.model.costs.explain import write_dollars_per_million
from sortkey.model.errors import ModelError
from sortkey.server.console.access import Viewer
from sortkey.server.console.data.declared import Declared
from sortkey.server.console.data.rows import Row, RowMaker, seen
from sortkey.server.console.data.tables import Description, TableBook
from sortkey.server.console.routes import Body, ChangedError, Item, Key, Message, Route, Routes, forbidden, invalid
from sortkey.server.console.store import StoreError, StoreRequests
from sortkey.values.size import item_size, write_units

ROWS: Final = 1000
"""Of one bulk delete."""
AT_ONCE: Final = 16
_MILLION: Final = 1_000_000
_FAILED: Final = "ConditionalCheckFailedException"


class PutRequest(Body):
    table: str
    item: Item
    seen: str | None
    dry_run: bool = False


class AttributeChange(Message):
    attribute: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None


class Put(Message):
    done: bool
    before: Item | None
    after: Item
    changes: list[AttributeChange]
    condition: str
    units: float
    dollars: float
    warnings: list[str]
    fixed: Item | None
    row: Row | None


class SeenRow(Body):
    key: Key
    seen: str


class DeleteRequest(Body):
    table: str
    rows: list[SeenRow]
    dry_run: bool = False


class FailedRow(Message):
    key: Key
    message: str


class Delete(Message):
    done: bool
    deleted: int
    changed: list[Key]
    gone: list[Key]
    failed: list[FailedRow]
    units: float
    dollars: float


class Condition(NamedTuple):
    text: str
    names: dict[str, str]
    values: dict[str, Any]

    def members(self) -> dict[str, Any]:
        given: dict[str, Any] = {"ConditionExpression": self.text, "ExpressionAttributeNames": self.names}
        return given | ({"ExpressionAttributeValues": self.values} if self.values else {})

    def shown(self) -> str:
        """With names and values in place."""
        text = self.text
        for placeholder, name in sorted(self.names.items(), key=lambda each: -len(each[0])):
            text = text.replace(placeholder, name)
        for placeholder, value in sorted(self.values.items(), key=lambda each: -len(each[0])):
            text = text.replace(placeholder, _short(value))
        return text


class Edits:
    def __init__(self, store: StoreRequests, declared: Declared, tables: TableBook) -> None:
        self._store = store
        self._declared = declared
        self._tables = tables

    def routes(self) -> Routes:
        return {"put": Route(PutRequest, self.put), "delete": Route(DeleteRequest, self.delete)}

    async def put(self, viewer: Viewer, wanted: PutRequest) -> Put:
        description = await self._editable(viewer, wanted.table)
        key = {name: wanted.item[name] for name in description.key_names if name in wanted.item}
        maker = RowMaker(description.key_names, self._declared.tables.get(wanted.table), False)
        before = await self._read(viewer, wanted.table, key)
        if (None if before is None else seen(before)) != wanted.seen:
            raise _changed(before, maker)
        condition = condition_on(before, wanted.item, description.key_names)
        warnings, fixed = self._checked(wanted.table, wanted.item)
        done = not wanted.dry_run
        if done:
            await self._write(viewer, "PutItem", {"TableName": wanted.table, "Item": wanted.item}, condition, maker)
        units = _units(before, wanted.item, description)
        after = await self._read(viewer, wanted.table, key) if done else None
        return Put(
            done,
            before,
            wanted.item,
            _changes(before or {}, wanted.item),
            condition.shown(),
            units,
            write_dollars_per_million(units) / _MILLION,
            warnings,
            fixed,
            None if after is None else maker.row(after),
        )

    async def _editable(self, viewer: Viewer, table: str) -> Description:
        if not viewer.edits(table):
            raise forbidden(f"You may not edit rows of {table}.")
        return await self._tables.describe(table)

    async def _read(self, viewer: Viewer, table: str, key: Key) -> Item | None:
        answer = await self._store.call(viewer, "GetItem", {"TableName": table, "Key": key, "ConsistentRead": True})
        item: Item | None = answer.get("Item")
        return item

    async def _write(
        self, viewer: Viewer, operation: str, members: dict[str, Any], condition: Condition, maker: RowMaker
    ) -> None:
        given = {**members, **condition.members(), "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
        try:
            await self._store.call(viewer, operation, given)
        except StoreError as error:
            if error.code != _FAILED:
                raise
            raise _changed(error.item, maker) from None

    def _checked(self, table: str, item: Item) -> tuple[list[str], Item | None]:
        """What its class says of an item, and the item with the keys that its class would write."""
        declared = self._declared.tables.get(table)
        if declared is None:
            return [], None
        row = convert_member("", item)
        try:
            schema = declared.schema_of(row)
            if schema is None:
                return [f"No declared class of {table} has such a key."], None
            decoded = schema.decode(row)
            encoded: Item = to_dynamodb_json(schema.encode(decoded))
        except ModelError as error:
            return [str(error)], None
        differing = [name for name in schema.key_names if encoded.get(name) != item.get(name)]
        if not differing:
            return [], None
        warnings = [
            f"{name} is {_short(item.get(name))}; {schema.name} would write {_short(encoded.get(name))}."
            for name in sorted(differing)
        ]
        fixed = {name: value for name, value in item.items() if name not in differing}
        return warnings, fixed | {name: encoded[name] for name in differing if name in encoded}

    async def delete(self, viewer: Viewer, wanted: DeleteRequest) -> Delete:
        description = await self._editable(viewer, wanted.table)
        if not 1 <= len(wanted.rows) <= ROWS:
            raise invalid(f"rows has from 1 to {ROWS:,} rows, not {len(wanted.rows):,}.")
        result = Delete(not wanted.dry_run, 0, [], [], [], 0.0, 0.0)
        maker = RowMaker(description.key_names, None, False)
        slots = asyncio.Semaphore(AT_ONCE)

        async def one(row: SeenRow) -> None:
            async with slots:
                await self._delete_one(viewer, wanted, row, description, maker, result)

        await asyncio.gather(*map(one, wanted.rows))
        result.dollars = write_dollars_per_million(result.units) / _MILLION
        return result

    async def _delete_one(
        self,
        viewer: Viewer,
        wanted: DeleteRequest,
        row: SeenRow,
        description: Description,
        maker: RowMaker,
        result: Delete,
    ) -> None:
        try:
            item = await self._read(viewer, wanted.table, row.key)
            if item is None:
                result.gone.append(row.key)
                return
            if seen(item) != row.seen:
                result.changed.append(row.key)
                return
            if not wanted.dry_run:
                condition = condition_on(item, None, description.key_names)
                await self._write(viewer, "DeleteItem", {"TableName": wanted.table, "Key": row.key}, condition, maker)
            result.deleted += 1
            result.units += _units(item, None, description)
        except ChangedError:
            result.changed.append(row.key)
        except StoreError as error:
            result.failed.append(FailedRow(row.key, f"{error.code}: {error.message}"))


def condition_on(before: Item | None, after: Item | None, key: Sequence[str]) -> Condition:
    """That the row is as it was read, attribute by attribute; those that the edit changes come first, if there are more
    than a condition can have."""
    if before is None:
        return Condition("attribute_not_exists(#k)", {"#k": key[0]}, {})
    changed = [name for name in before if after is not None and before[name] != after.get(name)]
    added = [name for name in after or () if name not in before]
    names: dict[str, str] = {}
    values: dict[str, Any] = {}
    tests: list[str] = []
    size = 0
    for name in dict.fromkeys((*key, *changed, *added, *before)):
        number = len(names)
        test = f"#a{number} = :v{number}" if name in before else f"attribute_not_exists(#a{number})"
        size += len(test) + len(" AND ")
        if size > EXPRESSION_BYTES or 2 * len(tests) + 1 >= EXPRESSION_OPERATORS:
            break
        tests.append(test)
        names[f"#a{number}"] = name
        if name in before:
            values[f":v{number}"] = before[name]
    return Condition(" AND ".join(tests), names, values)


def _changes(before: Item, after: Item) -> list[AttributeChange]:
    names = dict.fromkeys((*before, *after))
    return [
        AttributeChange(name, before.get(name), after.get(name))
        for name in names
        if before.get(name) != after.get(name)
    ]


def _units(before: Item | None, after: Item | None, description: Description) -> float:
    """Of the table, and of each index that the row is in before or after."""
    size = max(0 if each is None else item_size(each) for each in (before, after))
    units = write_units(size)
    for index in description.indexes:
        names = [each.name for each in index.key]
        was, is_now = (_key_in(each, names) for each in (before, after))
        if was is not None and is_now is not None and was != is_now:
            units += 2 * write_units(size)
        elif (was is not None or is_now is not None) and before != after:
            units += write_units(size)
    return units


def _key_in(item: Item | None, names: Sequence[str]) -> list[Any] | None:
    return None if item is None or any(name not in item for name in names) else [item[name] for name in names]


def _changed(current: Item | None, maker: RowMaker) -> ChangedError:
    if current is None:
        return ChangedError("The row is gone; somebody has deleted it since it was shown.", None)
    return ChangedError("The row is not as it was shown; somebody has written it since.", maker.row(current))


SHORT: Final = 60


def _short(value: Mapping[str, Any] | None) -> str:
    if value is None:
        return "absent"
    ((tag, content),) = value.items()
    text = content if tag == "N" else orjson.dumps(content).decode()
    return text if len(text) <= SHORT else f"{text[:SHORT]}…"

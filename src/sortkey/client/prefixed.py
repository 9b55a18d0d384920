"""Clients that add a prefix to table names and hide it from callers, over any other client."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Sequence
from typing import Any, Final, Generic, TypeVar

from sortkey.client.boto3_shapes import Unparsed
from sortkey.client.errors import client_error
from sortkey.client.interface import (
    AnyClient,
    AsyncClient,
    Client,
    InProcessPuts,
    InProcessReads,
    Request,
    WriteTogether,
)
from sortkey.client.methods import R
from sortkey.client.stores import Capabilities
from sortkey.engine.database import Database
from sortkey.errors import DynamoDBError
from sortkey.expressions.partiql_parser import parse_statement

Members = dict[str, Any]

_SHORTEST_NAME: Final = 3
_NAMES: Final = frozenset(
    {"TableName", "GlobalTableName", "ExclusiveStartTableName", "SourceTableName", "TargetTableName"}
)
_STATEMENTS: Final = frozenset({"Statements", "TransactStatements"})
_NESTED: Final = {"BackupDescription": "SourceTableDetails", "ImportTableDescription": "TableCreationParameters"}
"""Members of answers that have the name of their table one level down."""
_BY_TABLE: Final = frozenset({"BatchGetItem", "BatchWriteItem", "TransactWriteItems"})
"""Operations whose answers have maps keyed by table name."""


class TableNames:
    """The prefix of table names: added in requests, stripped from answers, so that callers never see it.

    Only members that DynamoDB defines as table names are changed; an item may have attributes of any name. ARNs stay as
    they are: they come from answers and hold the stored name. Error messages hold the stored name, too.
    """

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    def add(self, operation: str, members: Members) -> Members:
        """The request with the prefix on its table names."""
        copy = {name: self._add(member) if name in _NAMES else member for name, member in members.items()}
        if isinstance(copy.get("TableCreationParameters"), dict):
            copy["TableCreationParameters"] = self.add("", copy["TableCreationParameters"])
        if isinstance(copy.get("RequestItems"), dict):
            copy["RequestItems"] = {self._add(table): each for table, each in copy["RequestItems"].items()}
        if isinstance(copy.get("TransactItems"), list):
            copy["TransactItems"] = [self._add_in_action(action) for action in copy["TransactItems"]]
        if "Statement" in copy:
            copy["Statement"] = self._add_in_statement(operation, members)
        for name in _STATEMENTS & copy.keys():
            if isinstance(copy[name], list):
                copy[name] = [self._add_in_part(operation, each) for each in copy[name]]
        if operation == "ListTables":
            # Names come in order, and no table's name is the bare prefix. AWS takes no name shorter than three
            # characters, so the prefix is padded with the lowest character allowed.
            copy.setdefault("ExclusiveStartTableName", self.prefix.ljust(_SHORTEST_NAME, "-"))
        return copy

    def strip(self, operation: str, answer: Members) -> Members:
        """The answer without the prefix on its table names."""
        if operation == "ListTables":
            return self._strip_list(answer)
        copy = dict(answer)
        if "TableName" in copy:
            copy["TableName"] = self._strip(copy["TableName"])
        for name, inner in _NESTED.items():
            if name in copy:
                copy[name] = {**copy[name], inner: self._strip_description(copy[name][inner])}
        for name in (
            "Table",
            "TableDescription",
            "StreamDescription",
            "ConsumedCapacity",
            "Streams",
            "BackupSummaries",
        ):
            if name in copy:
                copy[name] = _each(copy[name], self._strip_description)
        if operation == "BatchExecuteStatement":
            copy["Responses"] = [self._strip_description(each) for each in copy["Responses"]]
        if operation in _BY_TABLE:
            for name in ("Responses", "UnprocessedKeys", "UnprocessedItems", "ItemCollectionMetrics"):
                if name in copy:
                    copy[name] = {self._strip(table): each for table, each in copy[name].items()}
        return copy

    def _strip_list(self, answer: Members) -> Members:
        ours = [name for name in answer["TableNames"] if name.startswith(self.prefix)]
        copy = {**answer, "TableNames": [self._strip(name) for name in ours]}
        last = copy.pop("LastEvaluatedTableName", None)
        # After the last name with the prefix there is nothing left to list.
        if last is not None and last.startswith(self.prefix):
            copy["LastEvaluatedTableName"] = self._strip(last)
        return copy

    def _add_in_part(self, operation: str, part: Any) -> Any:
        return self.add(operation, part) if isinstance(part, dict) else part

    def _add_in_statement(self, operation: str, members: Members) -> Any:
        """The statement with the prefix on its table. One that cannot be parsed is not sent: it might reach another."""
        text = members["Statement"]
        if not isinstance(text, str):
            return text
        try:
            statement = parse_statement(text)
        except DynamoDBError as error:
            raise client_error(operation, members, error) from None
        start, end = statement.table_place
        return f'{text[:start]}"{self._add(statement.table)}"{text[end:]}'

    def _add_in_action(self, action: Any) -> Any:
        if not isinstance(action, dict):
            return action
        return {name: self.add("", inner) if isinstance(inner, dict) else inner for name, inner in action.items()}

    def _strip_description(self, description: Members) -> Members:
        if "TableName" not in description:
            return description
        return {**description, "TableName": self._strip(description["TableName"])}

    def _add(self, name: Any) -> Any:
        if not isinstance(name, str) or name.startswith("arn:"):
            return name
        return self.prefix + name

    def _strip(self, name: str) -> str:
        return name.removeprefix(self.prefix)


def _each(member: Any, change: Callable[[Members], Members]) -> Any:
    return [change(element) for element in member] if isinstance(member, list) else change(member)


C = TypeVar("C", bound=AnyClient[Any])


class PrefixedReads:
    """In-process reads of tables with a prefix."""

    def __init__(self, reads: InProcessReads, prefix: str) -> None:
        self._reads = reads
        self._prefix = prefix

    def get_unparsed(self, table: str, key: dict[str, Any], consistent: bool) -> tuple[Unparsed | None, float]:
        return self._reads.get_unparsed(self._prefix + table, key, consistent)

    def lookup_unparsed(
        self, table: str, pairs: Collection[tuple[str, str]], consistent: bool, gaps: bool
    ) -> tuple[Unparsed, int, float] | None:
        return self._reads.lookup_unparsed(self._prefix + table, pairs, consistent, gaps)


class PrefixedPuts:
    """In-process puts into tables with a prefix."""

    def __init__(self, puts: InProcessPuts, prefix: str) -> None:
        self._puts = puts
        self._prefix = prefix
        self.submit = puts.submit

    def __len__(self) -> int:
        return len(self._puts)

    @property
    def bytes(self) -> int:
        return self._puts.bytes

    def add(
        self,
        table: str,
        row: dict[str, Any],
        condition: dict[str, Any] | None = None,
        *,
        size: int | None = None,
    ) -> None:
        self._puts.add(self._prefix + table, row, condition, size=size)


class AnyPrefixedClient(AnyClient[R], Generic[C, R]):
    """What the sync and the async client have in common."""

    def __init__(self, client: C, prefix: str) -> None:
        self._client = client
        self._names = TableNames(prefix)
        self.meta = client.meta

    @property
    def database(self) -> Database | None:
        return self._client.database

    @property
    def in_flight(self) -> int:
        return self._client.in_flight

    @property
    def in_process_reads(self) -> InProcessReads | None:
        reads = self._client.in_process_reads
        return None if reads is None else PrefixedReads(reads, self._names.prefix)

    @property
    def in_process_puts(self) -> Callable[[], InProcessPuts] | None:
        puts = self._client.in_process_puts
        return None if puts is None else lambda: PrefixedPuts(puts(), self._names.prefix)

    def honour_fences(self) -> None:
        self._client.honour_fences()


class PrefixedClient(AnyPrefixedClient[Client, dict[str, Any]], Client):
    def _call(self, operation: str, members: dict[str, Any]) -> dict[str, Any]:
        answer = self._client._call(operation, self._names.add(operation, members))
        return self._names.strip(operation, answer)

    def _call_unparsed(self, operation: str, members: dict[str, Any], binary: bool = True) -> dict[str, Any]:
        answer = self._client._call_unparsed(operation, self._names.add(operation, members), binary)
        return self._names.strip(operation, answer)

    def capabilities(self) -> Capabilities:
        return self._client.capabilities()

    def wait_for_records(self, *, ShardIterator: str, Timeout: float) -> bool:
        return self._client.wait_for_records(ShardIterator=ShardIterator, Timeout=Timeout)

    def close(self) -> None:
        self._client.close()


class AsyncPrefixedClient(AnyPrefixedClient[AsyncClient, Coroutine[Any, Any, dict[str, Any]]], AsyncClient):
    @property
    def write_together(self) -> WriteTogether | None:
        write, names = self._client.write_together, self._names
        if write is None:
            return None

        async def write_prefixed(requests: Sequence[Request]) -> list[dict[str, Any] | Exception]:
            found = await write([(operation, names.add(operation, members)) for operation, members in requests])
            return [
                result if isinstance(result, Exception) else names.strip(operation, result)
                for (operation, _), result in zip(requests, found, strict=True)
            ]

        return write_prefixed

    async def _call(self, operation: str, members: dict[str, Any]) -> dict[str, Any]:
        answer = await self._client._call(operation, self._names.add(operation, members))
        return self._names.strip(operation, answer)

    async def _call_unparsed(self, operation: str, members: dict[str, Any], binary: bool = True) -> dict[str, Any]:
        answer = await self._client._call_unparsed(operation, self._names.add(operation, members), binary)
        return self._names.strip(operation, answer)

    async def capabilities(self) -> Capabilities:
        return await self._client.capabilities()

    async def wait_for_records(self, *, ShardIterator: str, Timeout: float) -> bool:
        return await self._client.wait_for_records(ShardIterator=ShardIterator, Timeout=Timeout)

    async def close(self) -> None:
        await self._client.close()

"""Clients of the simulated store: each asks for one thing after another, and notes the answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final

import lmdb

from sortkey.clock import ManualClock
from sortkey.engine import requests
from sortkey.engine.database import Database
from sortkey.engine.operations.answers import to_dict
from sortkey.errors import DynamoDBError, InternalServerError
from sortkey.storage.write_queue import CallbackTicket
from tests.faults.simulation.disk import Disk
from tests.faults.simulation.history import ABSENT, DONE, UNKNOWN, WAITING, History, Operation, Plain
from tests.faults.simulation.scheduler import Scheduler

TABLE: Final = "things"
KEYS: Final = ("a", "b", "c", "d")
COLOURS: Final = ("red", "green", "blue")
KINDS: Final = ("put", "put", "put", "add", "add", "delete", "guarded", "transact", "batch")
TOKEN_SECONDS: Final = 500
"""Less than the time for which the engine remembers a token."""


def typed(item: Plain) -> dict[str, Any]:
    return {name: {"N": str(value)} if isinstance(value, int) else {"S": value} for name, value in item.items()}


def plain(item: dict[str, Any]) -> Plain:
    return {name: int(value["N"]) if "N" in value else value["S"] for name, value in item.items()}


class Clients:
    """One life of a store: it ends by a crash, or when all clients have finished."""

    def __init__(
        self, database: Database, disk: Disk, scheduler: Scheduler, history: History, clock: ManualClock
    ) -> None:
        self._database = database
        self._disk = disk
        self._scheduler = scheduler
        self._history = history
        self._clock = clock
        self._earlier = [
            operation
            for operation in history.operations
            if operation.kind == "transact" and operation.outcome in (WAITING, UNKNOWN)
        ]

    def caller(self, name: str, random: Random, count: int) -> None:
        """Waits for each answer, as threads with an embedded client do."""
        for operation in self._operations(name, random, count):
            self._ask(operation)
            if operation.kind == "transact" and operation.outcome in (ABSENT, UNKNOWN):
                self._ask(operation)

    def loop(self, name: str, random: Random, count: int) -> None:
        """Does not wait, as an event loop; commits itself or lets the queue's thread do it."""
        queue = self._database.store.queue
        asked: list[Operation] = []
        for operation in self._operations(name, random, count):
            asked.append(operation)
            work = self._database.plan(_api(operation), requests.convert(_api(operation), operation.request))
            queue.enqueue(CallbackTicket(work, self._answer(operation)))
            chance = random.random()
            if chance < 0.4 or (chance < 0.7 and not queue.lead()):
                queue.summon()
        queue.summon()
        self._scheduler.point("answers", lambda: all(operation.answered is not None for operation in asked))

    def chores(self, random: Random, count: int) -> None:
        """Work for the janitor, and time that passes. Nothing is noted: any outcome is right if the store is sound."""
        for _ in range(count):
            api, members = random.choice((_add_index, _drop_index, _add_table, _drop_table, _expire, _expire))()
            if api == "":
                self._clock.advance(random.choice((1, 60, 2000)))
                self._database.janitor.wake()
                continue
            try:
                self._database.call(api, members)
            except (DynamoDBError, lmdb.Error):
                continue

    def ask_again(self) -> None:
        """Transactions that an earlier life did not answer, by the same token: they are executed once at most."""
        for operation in self._earlier:
            operation.outcome = UNKNOWN
            if self._clock.now() - operation.asked_at < TOKEN_SECONDS:
                self._ask(operation)

    def _operations(self, client: str, random: Random, count: int) -> Iterator[Operation]:
        for _ in range(count):
            yield self._new(client, random)

    def _new(self, client: str, random: Random) -> Operation:
        kind = random.choice(KINDS)
        keys = tuple(random.sample(KEYS, {"transact": 2, "batch": 3}.get(kind, 1)))
        operations = self._history.operations
        made = Operation(len(operations), kind, keys, client, self._scheduler.step, self._clock.now())
        made.items = {key: self._item(made.number, key, random) for key in keys}
        made.request = _request(made, random)
        operations.append(made)
        return made

    def _item(self, number: int, key: str, random: Random) -> Plain:
        item: Plain = {"id": key, "op": number, "pad": "x" * random.choice((0, 10, 900))}
        if random.random() < 0.7:
            item["colour"] = random.choice(COLOURS)
        if random.random() < 0.5:
            item["expires"] = int(self._clock.now()) + random.choice((1, 100, 5000))
        return item

    def _ask(self, operation: Operation) -> None:
        if operation.outcome == ABSENT:
            operation.outcome = WAITING
        try:
            answer = self._database.call(_api(operation), operation.request)
        except (DynamoDBError, lmdb.Error) as error:
            self._note(operation, None, error)
        else:
            self._note(operation, answer, None)

    def _answer(self, operation: Operation) -> Callable[[Any, BaseException | None], None]:
        def done(answer: Any, error: BaseException | None) -> None:
            # Not an assertion: the queue survives whatever a callback raises.
            if operation.answered is not None:
                self._history.surprises.append(("answered twice", operation))
            error = self._database.settle(_api(operation), error)
            self._note(operation, None if error is not None else to_dict(answer), error)

        return done

    def _note(self, operation: Operation, answer: Any, error: BaseException | None) -> None:
        operation.answered = self._scheduler.step
        if error is not None:
            if not isinstance(error, DynamoDBError | lmdb.Error):
                self._history.surprises.append(("an error that no caller expects", error))
            if isinstance(error, InternalServerError) and "Nothing was written" not in error.message:
                self._history.surprises.append(("an error that does not say what it means", error))
            clear = isinstance(error, DynamoDBError) or not self._disk.panicked
            # An error says nothing about an earlier try of the same operation.
            operation.outcome = ABSENT if clear and operation.outcome != UNKNOWN else UNKNOWN
            return
        operation.outcome = DONE
        old = answer.get("Attributes")
        operation.old = None if old is None else plain(old)["op"]


def _api(operation: Operation) -> str:
    return {
        "add": "UpdateItem",
        "delete": "DeleteItem",
        "transact": "TransactWriteItems",
        "batch": "BatchWriteItem",
    }.get(operation.kind, "PutItem")


def _request(operation: Operation, random: Random) -> dict[str, Any]:
    puts = [typed(item) for item in operation.items.values()]
    one: dict[str, Any] = {"TableName": TABLE, "ReturnValues": "ALL_OLD"}
    if operation.kind == "transact":
        actions = [{"Put": {"TableName": TABLE, "Item": item}} for item in puts]
        return {"TransactItems": actions, "ClientRequestToken": f"token {operation.number}"}
    if operation.kind == "batch":
        return {"RequestItems": {TABLE: [{"PutRequest": {"Item": item}} for item in puts]}}
    if operation.kind in ("add", "delete"):
        one["Key"] = {"id": {"S": operation.keys[0]}}
    else:
        one["Item"] = puts[0]
    if operation.kind == "add":
        one["UpdateExpression"] = "ADD n :one SET op = :op"
        one["ExpressionAttributeValues"] = {":one": {"N": "1"}, ":op": {"N": str(operation.number)}}
    if operation.kind == "guarded":
        one["ConditionExpression"] = random.choice(("attribute_not_exists(id)", "attribute_exists(colour)", "n > :n"))
        if ":n" in one["ConditionExpression"]:
            one["ExpressionAttributeValues"] = {":n": {"N": "1"}}
    return one


def _add_index() -> tuple[str, dict[str, Any]]:
    index = {
        "IndexName": "by-expiry",
        "KeySchema": [{"AttributeName": "expires", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    attributes = [{"AttributeName": "expires", "AttributeType": "N"}]
    return "UpdateTable", {
        "TableName": TABLE,
        "AttributeDefinitions": attributes,
        "GlobalSecondaryIndexUpdates": [{"Create": index}],
    }


def _drop_index() -> tuple[str, dict[str, Any]]:
    return "UpdateTable", {
        "TableName": TABLE,
        "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "by-expiry"}}],
    }


def _add_table() -> tuple[str, dict[str, Any]]:
    return "CreateTable", table("other")


def _drop_table() -> tuple[str, dict[str, Any]]:
    return "DeleteTable", {"TableName": "other"}


def _expire() -> tuple[str, dict[str, Any]]:
    return "", {}


def table(name: str) -> dict[str, Any]:
    """A table with an index and a stream."""
    return {
        "TableName": name,
        "AttributeDefinitions": [{"AttributeName": key, "AttributeType": "S"} for key in ("id", "colour")],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "by-colour",
                "KeySchema": [{"AttributeName": "colour", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        "BillingMode": "PAY_PER_REQUEST",
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    }

"""A process that calls a store: a folder, or the URL of an endpoint. It reports each call before and after it.

For each history, it gets a seed and the names of the items, and makes a few calls. It may be killed at any time; what
it has reported stays in the pipe.
"""

from __future__ import annotations

import time
from multiprocessing.connection import Connection
from random import Random
from typing import Any, Final

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

import sortkey as sk
from sortkey.client import Client
from sortkey.clock import DEADLINE
from sortkey.storage import FolderBusy
from tests.faults.linearizability.register import Answer, Call, Kind, Value

TABLE: Final = "registers"
CALLS: Final = 8
KINDS: Final[tuple[Kind, ...]] = ("get", "get", "put", "put if", "put if", "add", "delete")
ADDED: Final = 1_000_000
"""Added to numbers that are smaller and all different, so that each value has one history."""
HURRIED_SECONDS: Final = 0.005
NOT_DONE: Final = "Nothing was written: "
# A request that is sent again might be done twice.
CONFIG: Final = Config(retries={"total_max_attempts": 1}, connect_timeout=5, read_timeout=30)

Flaw = str | None
"""What the client does wrong on purpose."""


def run(store: str, number: int, flaw: Flaw, pipe: Connection) -> None:
    """Reports `(call, name, began)`, then `(answer, ended)`; True for an error that says that nothing was written, and
    None for any other; and None at the end of a history."""
    with sk.client(store, config=CONFIG) if store.startswith("http") else sk.client(store) as client:
        pipe.send("ready")
        while True:
            seed, names = pipe.recv()
            _History(client, pipe, Random(f"{seed} {number}"), (number + 1) * 1000, flaw).run(names)
            pipe.send(None)


class _History:
    def __init__(self, client: Client, pipe: Connection, random: Random, value: int, flaw: Flaw) -> None:
        self._client = client
        self._pipe = pipe
        self._random = random
        self._value = value
        self._known: dict[str, Value] = {}
        self._flaw = flaw

    def run(self, names: list[str]) -> None:
        for _ in range(CALLS):
            name, kind = self._random.choice(names), self._random.choice(KINDS)
            self._value += 1
            value = ADDED if kind == "add" else self._value
            call = Call(kind, value, self._known.get(name) if kind == "put if" else None)
            hurried = DEADLINE.set(time.monotonic() + HURRIED_SECONDS if self._random.random() < 0.5 else None)
            self._pipe.send((call, name, time.monotonic()))
            answer = self._performed(name, call)
            self._pipe.send((answer, time.monotonic()))
            DEADLINE.reset(hurried)
            if isinstance(answer, Answer):
                self._known[name] = answer.seen if kind in ("get", "add") or not answer.written else value

    def _performed(self, name: str, call: Call) -> Answer | bool | None:
        if self._flaw == "stale reads" and call.kind == "get" and name in self._known:
            return Answer(False, self._known[name])
        if self._flaw == "lost writes" and call.kind == "put if":
            return Answer(True, call.expected)
        try:
            return perform(self._client, name, call)
        except FolderBusy:
            return True
        except ClientError as error:
            return str(error.response["Error"].get("Message")).startswith(NOT_DONE) or None
        except (BotoCoreError, TimeoutError):
            return None


def perform(client: Client, name: str, call: Call) -> Answer:
    key: dict[str, Any] = {"TableName": TABLE, "Key": {"id": {"S": name}}}
    if call.kind == "get":
        return Answer(False, _value(client.get_item(**key, ConsistentRead=True).get("Item")))
    if call.kind == "delete":
        return Answer(True, _value(client.delete_item(**key, ReturnValues="ALL_OLD").get("Attributes")))
    number = {"N": str(call.value)}
    if call.kind == "add":
        changed = client.update_item(
            **key,
            UpdateExpression="ADD v :n",
            ExpressionAttributeValues={":n": number},
            ReturnValues="ALL_NEW",
        )
        return Answer(True, _value(changed["Attributes"]))
    put: dict[str, Any] = {"TableName": TABLE, "Item": {"id": {"S": name}, "v": number}}
    if call.kind == "put":
        return Answer(True, _value(client.put_item(**put, ReturnValues="ALL_OLD").get("Attributes")))
    put["ConditionExpression"] = "attribute_not_exists(id)"
    if call.expected is not None:
        put["ConditionExpression"] = "v = :e"
        put["ExpressionAttributeValues"] = {":e": {"N": str(call.expected)}}
    try:
        client.put_item(**put, ReturnValuesOnConditionCheckFailure="ALL_OLD")
    except client.exceptions.ConditionalCheckFailedException as error:
        response: Any = error.response
        return Answer(False, _value(response.get("Item")))
    return Answer(True, call.expected)


def _value(item: dict[str, Any] | None) -> Value:
    return None if item is None else int(item["v"]["N"])

"""Mutated requests of every operation."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from random import Random
from typing import Any, Final

from tests.faults.fuzz import mutations
from tests.faults.fuzz.case import Headers, Message, Port
from tests.faults.fuzz.corpus import Requests
from tests.faults.fuzz.json_text import Json, clone, encode, spots
from tests.faults.fuzz.service_model import STREAMS, ServiceModel

ENCODINGS: Final = ("gzip", "deflate", "identity", "br", "gzip, gzip", "")


def headers(operation: str) -> Headers:
    service = "DynamoDBStreams_20120810" if operation in STREAMS else "DynamoDB_20120810"
    return (
        ("Host", "localhost"),
        ("X-Amz-Target", f"{service}.{operation}"),
        ("Content-Type", "application/x-amz-json-1.0"),
    )


def message(operation: str, body: Json | bytes, port: Port = "endpoint", *more: tuple[str, str]) -> Message:
    return Message(port, operation, "POST", "/", (*headers(operation), *more), body)


class Operations:
    def __init__(self, corpus: Requests) -> None:
        self._by_operation: dict[str, list[dict[str, Any]]] = {}
        for operation, members in corpus:
            self._by_operation.setdefault(operation, []).append(members)
        self._names = list(self._by_operation)
        self._weights = [
            sum(1 + len(list(spots(members))) for members in requests) ** 0.5
            for requests in self._by_operation.values()
        ]
        """Requests with more parts have more ways to be wrong."""
        self._donors: Sequence[Json] = [members for _, members in corpus if members]
        self._model = ServiceModel()

    def make(self, random: Random) -> Message:
        (operation,) = random.choices(self._names, self._weights)
        members = clone(random.choice(self._by_operation[operation]))
        declared = self._model.members(operation)
        # Often only one thing is wrong: the rest of the request is not what rejects it.
        chance = random.random()
        if chance < 0.06:
            self._model.set_number(random, operation, members)
            return message(operation, members)
        if chance < 0.12 and mutations.nest_expression(random, members):
            return message(operation, members)
        modelled = random.random()
        for _ in range(0 if modelled < 0.5 or not declared else random.choice((1, 1, 1, 2, 4))):
            name = random.choice(declared)
            members[name] = self._model.member(random, operation, name)
        body = mutations.mutated(random, members, self._donors) if modelled < 0.75 else members
        chance = random.random()
        if chance < 0.03:
            return message(operation, mutations.damaged(random, encode(body)))
        if chance < 0.05:
            return _compressed(random, operation, encode(body))
        return message(operation, body)


def _compressed(random: Random, operation: str, body: bytes) -> Message:
    packed = gzip.compress(body, mtime=0)
    if random.random() < 0.5:
        packed = mutations.damaged(random, packed)
    return message(operation, packed, "endpoint", ("Content-Encoding", random.choice(ENCODINGS)))

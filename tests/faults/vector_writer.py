"""Writes vectors until it is killed: puts, updates, removals and batches, and searches of its own in between.

It tells of a write before and after it, so that a test knows what must be there, and what may be.
"""

from __future__ import annotations

import os
from multiprocessing.connection import Connection
from random import Random
from typing import Any, Final

import orjson
import pytest

import sortkey
from sortkey.client import Client
from sortkey.engine.vectors import vector_memory

TABLE: Final = "vectors"
DIMENSIONS: Final = 8
NAMES: Final = tuple(f"item {number}" for number in range(40))

Item = dict[str, Any]


def lay_out(client: Client) -> None:
    client.create_table(
        TableName=TABLE,
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("id", "kind")],
        BillingMode="PAY_PER_REQUEST",
        VectorIndexes=[
            {
                "IndexName": "near",
                "VectorAttribute": {"AttributeName": "vector"},
                "Projection": {"ProjectionType": "ALL"},
                "Dimensions": DIMENSIONS,
                "DistanceFunction": "EUCLIDEAN",
            },
            {
                "IndexName": "by_kind",
                "VectorAttribute": {"AttributeName": "vector"},
                "SearchSchema": [{"AttributeName": "kind", "SearchSchemaElementType": "HASH"}],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
                "Dimensions": DIMENSIONS,
                "DistanceFunction": "COSINE",
            },
        ],
    )


def numbers(draw: Random) -> list[Item]:
    return [{"N": str(draw.randrange(-99, 100))} for _ in range(DIMENSIONS)]


def item(draw: Random, name: str) -> Item:
    made: Item = {"id": {"S": name}, "kind": {"S": draw.choice("ab")}}
    return made | {"vector": {"L": numbers(draw)}} if draw.random() < 0.8 else made


def make_graphs(patch: pytest.MonkeyPatch) -> None:
    """Graphs for as few vectors as these, made and kept again and again."""
    patch.setattr(vector_memory, "GRAPH_FROM", 10)
    patch.setattr(vector_memory, "BLOCK_ROWS", 16)
    patch.setattr(vector_memory, "ADDED_FROM", 4)
    patch.setattr(vector_memory, "SAVED_FROM", 1)


def main_with_graphs(path: str, seed: int, log: Connection) -> None:
    with pytest.MonkeyPatch.context() as patch:
        make_graphs(patch)
        main(path, seed, log)


def main(path: str, seed: int, log: Connection) -> None:
    draw = Random(seed)
    with sortkey.client(path) as client:
        while True:
            change = _change(draw)
            _tell(log, "asked", change)
            _write(client, change)
            _tell(log, "answered", change)
            if draw.random() < 0.3:
                search(client, numbers(draw), 5)


def _change(draw: Random) -> dict[str, Item | None]:
    """The items after one write, by name; None for those that it deletes."""
    chosen = draw.sample(NAMES, draw.choice((1, 1, 1, 6)))
    return {name: None if draw.random() < 0.25 else item(draw, name) for name in chosen}


def _write(client: Client, change: dict[str, Item | None]) -> None:
    requests = [
        {"DeleteRequest": {"Key": {"id": {"S": name}}}} if made is None else {"PutRequest": {"Item": made}}
        for name, made in change.items()
    ]
    client.batch_write_item(RequestItems={TABLE: requests})


def _tell(log: Connection, what: str, change: dict[str, Item | None]) -> None:
    os.write(log.fileno(), what.encode() + b" " + orjson.dumps(change) + b"\n")


def search(client: Client, vector: list[Item], top: int) -> list[tuple[str, float]]:
    found = client.search_vectors(TableName=TABLE, IndexName="near", SearchVector=vector, TopK=top)
    return [(each["Item"]["id"]["S"], each["Score"]) for each in found["SearchResults"]]

"""Attacks on an endpoint: requests that cost a server much and their client little, and the tables that they need.

Most of them are valid. A server may reject the others, or answer 503 when it has too much to do; what counts is how
long everybody else waits.
"""

from __future__ import annotations

import base64
import string
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import islice, product
from typing import Any, Final

import msgspec
import orjson

from benchmarks._workload import LOADERS, NAMESPACE, Request
from benchmarks.engine import BATCH
from sortkey.limits import KIB, MIB
from tests.oracle.endpoint import Endpoint

TINY: Final = "tiny"
LARGE: Final = "large"
TINY_ROWS: Final = 210_000
"""A page of 1 MB: an item of 5 bytes each."""
LARGE_ITEMS: Final = 100
BINARIES: Final = 30
BINARY_BYTES: Final = 399 * KIB
BODY_BYTES: Final = 16 * MIB
VALUES: Final = string.ascii_letters + string.digits
"""Names of placeholders; short ones, because an expression may have 4 KB."""


class Attack(msgspec.Struct, frozen=True):
    title: str
    connections: int
    make: Callable[[], Request]
    stalls: bool = False
    """Each connection sends all of the request but its end, and waits."""


def key(name: str) -> dict[str, Any]:
    return {"p": {"S": name}}


def short_names(count: int) -> list[str]:
    """Different names of four letters."""
    return ["".join(name) for name in islice(product(string.ascii_lowercase, repeat=4), count)]


def request(operation: str, **members: Any) -> Request:
    return Request(operation, orjson.dumps(members))


def scan(**members: Any) -> Request:
    return request("Scan", TableName=TINY, **members)


def scan_in() -> Request:
    values = "".join((VALUES * 2)[:100])
    one = f"p IN ({','.join(f':{value}' for value in values)})"
    return scan(FilterExpression=" OR ".join([one] * 12), ExpressionAttributeValues=unmatched_values())


def scan_comparisons() -> Request:
    text = " OR ".join(f"p=:{value}" for value in (VALUES * 3)[:150])
    return scan(FilterExpression=text, ExpressionAttributeValues=unmatched_values())


def unmatched_values() -> dict[str, Any]:
    """Every row is compared with all of them."""
    return {f":{value}": {"S": f"~{value}"} for value in VALUES}


def scan_projection() -> Request:
    return scan(ProjectionExpression="p")


def update_lists(body_bytes: int) -> Request:
    value = {"L": [{"N": "1"}] * (body_bytes // 10 - KIB)}
    text = "SET " + ",".join(f"a{number}=list_append(:v,:v)" for number in range(150))
    return request(
        "UpdateItem",
        TableName=LARGE,
        Key=key("lists"),
        UpdateExpression=text,
        ExpressionAttributeValues={":v": value},
    )


def check_binaries() -> Request:
    condition = " OR ".join(["contains(b,:v)"] * 150)
    missing = {"B": base64.b64encode(b"\0" * 31 + b"\1").decode()}
    checks = [
        {
            "ConditionCheck": {
                "TableName": LARGE,
                "Key": key(f"binary {number}"),
                "ConditionExpression": condition,
                "ExpressionAttributeValues": {":v": missing},
            }
        }
        for number in range(BINARIES)
    ]
    return request("TransactWriteItems", TransactItems=checks)


def batch_of(table: str, items: list[dict[str, Any]]) -> Request:
    return request("BatchWriteItem", RequestItems={table: [{"PutRequest": {"Item": item}} for item in items]})


def write_large() -> Request:
    return batch_of(LARGE, [key(f"batch {number}") | {"v": {"S": "x" * (BINARY_BYTES - 100)}} for number in range(25)])


def write_dense() -> Request:
    """25 items of many tiny attributes, as many as a body may have."""
    count = (BODY_BYTES - 8 * KIB) // 25 // len('"name":{"N":"1"},')
    attributes = {name: {"N": "1"} for name in short_names(count)}
    return batch_of(LARGE, [key(f"dense {number}") | attributes for number in range(25)])


def stalled_body() -> Request:
    return Request("BatchWriteItem", b" " * BODY_BYTES)


def get_large() -> Request:
    keys = [key(f"large {number}") for number in range(LARGE_ITEMS)]
    return request("BatchGetItem", RequestItems={LARGE: {"Keys": keys, "ProjectionExpression": "p, l[7]"}})


ATTACKS: Final = {
    "scan-in": Attack("Scan, 12 × IN of 100 values", 4, scan_in),
    "scan-comparisons": Attack("Scan, 150 comparisons", 4, scan_comparisons),
    "scan": Attack("Scan, nothing else", 4, scan),
    "scan-projection": Attack("Scan, projection", 4, scan_projection),
    "update-2": Attack("UpdateItem, 150 × list_append, 2 MB", 4, lambda: update_lists(2 * MIB)),
    "update-16": Attack("UpdateItem, 150 × list_append, 16 MB", 4, lambda: update_lists(BODY_BYTES)),
    "transaction": Attack("TransactWriteItems, 30 × 150 contains", 4, check_binaries),
    "batch-write": Attack("BatchWriteItem, 25 × 399 KB, 100 at once", 100, write_large),
    "stall": Attack("34 bodies of 16 MiB that stall", 34, stalled_body, stalls=True),
    "batch-get": Attack("BatchGetItem of 100 × 150 KB, projection", 4, get_large),
    "dense": Attack("BatchWriteItem, 16 MB of tiny attributes", 4, write_dense),
}


def prepare(url: str, tiny_rows: int) -> None:
    """Creates and fills the tables that the attacks read."""
    with closing(Endpoint(url, NAMESPACE)) as endpoint:
        for table in (TINY, LARGE):
            endpoint.call("CreateTable", table_definition(table))
        for each in large_requests():
            endpoint.send(each.operation, each.body)
    names = short_names(tiny_rows)
    batches = [batch_of(TINY, [key(name) for name in names[at : at + BATCH]]) for at in range(0, tiny_rows, BATCH)]
    with ThreadPoolExecutor(LOADERS) as pool:
        list(pool.map(lambda loader: send_all(url, batches[loader::LOADERS]), range(LOADERS)))


def send_all(url: str, requests: list[Request]) -> None:
    with closing(Endpoint(url, NAMESPACE)) as endpoint:
        for each in requests:
            endpoint.send(each.operation, each.body)


def table_definition(table: str) -> dict[str, Any]:
    return {
        "TableName": table,
        "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
    }


def large_requests() -> Iterator[Request]:
    # 150 KB of text each: all of them fit into the 16 MB of an answer.
    numbers = {"l": {"L": [{"N": "1"}] * 15_000}}
    for number in range(LARGE_ITEMS):
        yield request("PutItem", TableName=LARGE, Item=key(f"large {number}") | numbers)
    binary = {"b": {"B": base64.b64encode(bytes(BINARY_BYTES - 100)).decode()}}
    for number in range(BINARIES):
        yield request("PutItem", TableName=LARGE, Item=key(f"binary {number}") | binary)

"""Requests that no SDK sends: bytes turned, bodies cut, lengths lied about, shapes that fit nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

from sortkey.engine.requests import OPERATIONS
from sortkey.engine.requests.shapes import Shape, member_name
from tests.wire.serving import item, raw_request, request

GOOD = [
    request("GetItem", {"TableName": "fuzzed", "Key": item(1)}),
    request("PutItem", {"TableName": "fuzzed", "Item": item(1, n={"N": "1"}, l={"L": [{"BOOL": True}]})}),
    request(
        "UpdateItem",
        {
            "TableName": "fuzzed",
            "Key": item(1),
            "UpdateExpression": "SET a.b[1] = if_not_exists(c, :v) + :v REMOVE d",
            "ConditionExpression": "attribute_exists(pk) AND (size(e) > :v OR f IN (:v))",
            "ExpressionAttributeValues": {":v": {"N": "1"}},
        },
    ),
    request(
        "Query",
        {
            "TableName": "fuzzed",
            "KeyConditionExpression": "pk = :p AND begins_with(sk, :s)",
            "ExpressionAttributeValues": {":p": {"S": "p"}, ":s": {"S": "0"}},
        },
    ),
    request("Scan", {"TableName": "fuzzed", "Limit": 3, "FilterExpression": "attribute_type(pk, pk)"}),
]
# Without its table, the rest would not get far.
HARMLESS = sorted(OPERATIONS.keys() - {"DeleteTable"})
LEAVES: list[Callable[[Random], Any]] = [
    lambda random: random.choice([None, True, False, 0, -1, 1.5, 10**400, 1e308, "", "x", "fuzzed", "a" * 300]),
    lambda random: {random.choice(["S", "N", "B", "BOOL", "NULL", "SS", "NS", "M", "L", "?"]): shape(random, 1)},
    lambda random: {"N": random.choice(["1e126", "-1e-131", "1" * 39, "0x1", "NaN", "Infinity", "", "1e999999999"])},
    lambda random: {"B": random.choice(["====", "AA", "Ä", "AAAA", ""])},
    lambda random: item(random.randrange(9)),
    lambda random: random.choice(["SET a = a", "pk = :p", "((((", "a" * 5000, "REMOVE a[99999999999]", ":", "#"]),
]


def shape(random: Random, depth: int) -> Any:
    """Some JSON value."""
    choice = random.randrange(8)
    if depth <= 0 or choice < 5:
        return random.choice(LEAVES)(random) if depth > 0 else random.choice(["x", 1, None, "pk"])
    if choice < 7:
        return {random.choice(["pk", "sk", "S", "fuzzed", ":p", "#n", ""]): shape(random, depth - 1) for _ in range(3)}
    return [shape(random, depth - 1) for _ in range(random.randrange(4))]


def wrong_members(random: Random) -> bytes:
    """An operation whose members, some of them, have some other shape."""
    operation = random.choice(HARMLESS)
    structure: type[Shape] = OPERATIONS[operation]
    names = [member_name(field) for field in structure.__struct_fields__]
    members = {name: shape(random, 3) for name in names if random.random() < 0.5}
    if "TableName" in names and random.random() < 0.8:
        members["TableName"] = "fuzzed"
    return request(operation, members)


def turned_bytes(random: Random) -> bytes:
    data = bytearray(random.choice(GOOD))
    for _ in range(random.randrange(1, 6)):
        data[random.randrange(len(data))] = random.randrange(256)
    return bytes(data)


def cut_short(random: Random) -> bytes:
    data = random.choice(GOOD)
    return data[: random.randrange(len(data))]


def wrong_length(random: Random) -> bytes:
    head, _, body = random.choice(GOOD).partition(b"\r\n\r\n")
    length = random.choice([b"-1", b"0", b"7", b"99999999999999999999", b"0x10", b"16777216", b"1 1"])
    start = head.partition(b"Content-Length: ")[0]
    return start + b"Content-Length: " + length + b"\r\n\r\n" + body


def huge_headers(random: Random) -> bytes:
    header = random.choice(
        [b"a" * 200_000 + b": b\r\n", b"".join(b"h%d: v\r\n" % n for n in range(5000)), b"\0: x\r\n"]
    )
    return b"POST / HTTP/1.1\r\n" + header + b"\r\n"


def deep_json(random: Random) -> bytes:
    depth = random.choice([33, 500, 1100, 100_000])
    opening, closing = random.choice([(b'{"L":[', b"]}"), (b'{"M":{"a":', b"}}"), (b"[", b"]")])
    value = opening * depth + (closing * depth if random.random() < 0.5 else b"")
    body = b'{"TableName":"fuzzed","Item":{"pk":{"S":"a"},"sk":{"S":"b"},"x":' + value + b"}}"
    return raw_request("PutItem", body)


def not_unicode(random: Random) -> bytes:
    text = random.choice([b"\xff\xfe", b"\xed\xa0\x80", b"\\ud800", b"\\ud800\\u0041", b"\xc0\x80", b"\0"])
    return raw_request("PutItem", b'{"TableName":"fuzzed","Item":{"pk":{"S":"' + text + b'"},"sk":{"S":"b"}}}')


def large_numbers(random: Random) -> bytes:
    number = random.choice(["1e126", "9" * 39, "1e-400", "-" + "9" * 5000, "1" + "0" * 400])
    bare = random.choice([f'"{number}"', number])
    return raw_request(
        "PutItem", f'{{"TableName":"fuzzed","Item":{{"pk":{{"S":"a"}},"sk":{{"S":"b"}},"n":{{"N":{bare}}}}}}}'.encode()
    )


def broken_chunks(random: Random) -> bytes:
    chunks = random.choice([b"zz\r\n", b"ffffffffffffffff\r\n", b"-1\r\n", b"3\r\nabcd\r\n0\r\n\r\n", b"5\r\nab"])
    return b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks


def noise(random: Random) -> bytes:
    return random.randbytes(random.randrange(1, 2000))


def not_json(random: Random) -> bytes:
    operation = random.choice(list(OPERATIONS))
    body = random.choice([b"", b"null", b"[]", b"1", b'"x"', b"{", b"{}{}", json.dumps(shape(random, 4)).encode()])
    return raw_request(operation, body)


MAKERS = (
    wrong_members,
    turned_bytes,
    cut_short,
    wrong_length,
    huge_headers,
    deep_json,
    not_unicode,
    large_numbers,
    broken_chunks,
    noise,
    not_json,
)


def malformed(random: Random) -> bytes:
    # Most often the one that gets furthest into the server.
    make = wrong_members if random.random() < 0.4 else random.choice(MAKERS)
    return make(random)

"""Requests whose signatures are almost right. None of them may be accepted.

Some are changed after they were signed; some are signed correctly, but for what may not be signed: another service,
another time, another region, without the host. One in twenty is left genuine and must be accepted, which shows that the
others are rejected for the right reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final

from tests.faults.fuzz import values
from tests.faults.fuzz.case import Message
from tests.faults.fuzz.corpus import ITEM, KEY
from tests.faults.fuzz.json_text import Raw, encode
from tests.faults.fuzz.operations import headers
from tests.faults.fuzz.signing import Pairs, Parameters, Request, in_header, in_query

KEY_ID: Final = "AKIDEXAMPLE"
REGIONAL: Final = "AKIDREGIONAL"
SECRET: Final = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
KEYS: Final = {KEY_ID: {"secret": SECRET}, REGIONAL: {"secret": SECRET, "region": "eu-west-1"}}
"""The file of the server's keys."""

ASKED: Final = (
    ("GetItem", encode({"TableName": "orders", "Key": KEY})),
    ("PutItem", encode({"TableName": "orders", "Item": ITEM})),
    ("ListTables", b"{}"),
)
DATE: Final = "%Y%m%dT%H%M%SZ"
LIFETIMES: Final = (
    *("-1", "+60", "6e1", "", " ", "١", "604801", "0604801", "000000000999999999", "0" * 9 + "9" * 22),
    *("9" * 25, "1" + "0" * 5000, "60.0", "0x3c", "60 ", "null"),
)
AGES: Final = (
    timedelta(minutes=16),
    timedelta(minutes=-16),
    timedelta(days=1),
    timedelta(days=8),
    timedelta(days=-9000),
)

Change = Callable[[Random, Request], Request]


class Signatures:
    def __init__(self, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._now = now

    def make(self, random: Random) -> Message:
        operation, body = random.choice(ASKED)
        request = Request(headers(operation), body)
        presigned = random.random() < 0.5
        chance = random.random()
        if chance < 0.05:
            return genuine(operation, body, self._now(), "60" if presigned else None)
        if chance < 0.35:
            return _message("wrongly signed", self._wrongly_signed(random, request, presigned))
        signed = _sign(request, self._parameters(random), "60" if presigned else None)
        changed = random.choice(CHANGES)(random, signed)
        same = meaning(changed) == meaning(signed)
        return _message("changed", changed, forged=not same)

    def _parameters(self, random: Random) -> Parameters:
        return _parameters(random.choice((KEY_ID, REGIONAL)), self._now())

    def _wrongly_signed(self, random: Random, request: Request, presigned: bool) -> Request:
        given = self._parameters(random)
        if presigned and random.random() < 0.4:
            return in_query(request, given, random.choice(LIFETIMES))
        past = (self._now() - random.choice(AGES)).strftime(DATE)
        wrong = random.choice(
            (
                replace(given, secret=SECRET[:-1]),
                replace(given, secret=""),
                replace(given, key_id=KEY_ID + "X"),
                replace(given, key_id=""),
                replace(given, key_id=REGIONAL, region=random.choice(("us-east-1", "", "EU-WEST-1", "eu-west-1 "))),
                replace(given, service=random.choice(("s3", "DYNAMODB", "", "dynamodbstreams"))),
                replace(given, terminator=random.choice(("aws4", "", "AWS4_REQUEST"))),
                replace(given, day=random.choice(("20200101", "", given.day + "0", "١٢٣٤٥٦٧٨"))),
                replace(given, date=past, day=past[:8]),
                replace(given, date=random.choice(("", "0", "20260824", given.date[:-1], given.date + "Z", "١"))),
                replace(given, unsigned=frozenset({random.choice(("host", "x-amz-target"))})),
            )
        )
        return _sign(request, wrong, "60" if presigned else None)


def genuine(operation: str, body: bytes, now: datetime, expires: str | None = None) -> Message:
    """A request that must be accepted."""
    signed = _sign(Request(headers(operation), body), _parameters(KEY_ID, now), expires)
    return _message("genuine", signed, genuine=True)


def _parameters(key_id: str, now: datetime) -> Parameters:
    date = now.strftime(DATE)
    return Parameters(key_id, SECRET, date, date[:8])


def _sign(request: Request, given: Parameters, expires: str | None) -> Request:
    return in_header(request, given) if expires is None else in_query(request, given, expires)


def _message(label: str, request: Request, genuine: bool = False, forged: bool = True) -> Message:
    return Message(
        "locked",
        label,
        request.method,
        request.target,
        request.headers,
        request.body,
        forged=forged and not genuine,
        genuine=genuine,
    )


def meaning(request: Request) -> object:
    """What is signed, and by what; equal for requests that differ only in what does not matter."""
    plain = {name.lower(): " ".join(value.split()) for name, value in request.headers}
    authorization = plain.pop("authorization", "")
    kind, _, rest = authorization.partition(" ")
    # Nothing between two commas is not a part: what is signed stays the same.
    parts = dict(part.strip().partition("=")[::2] for part in rest.split(",") if part.strip())
    return request.method, request.path, dict(request.query), plain, kind, parts, request.body


def _change_value(random: Random, pairs: Pairs) -> Pairs:
    """One character of one value."""
    at = random.randrange(len(pairs))
    name, value = pairs[at]
    place = random.randrange(len(value) + 1)
    other = random.choice("0123456789abcdefxXZ/;=,. %é")
    cut = random.choice((0, 1, 1, 1, len(value)))
    return (*pairs[:at], (name, value[:place] + other + value[place + cut :]), *pairs[at + 1 :])


def _changed_value(random: Random, request: Request) -> Request:
    if request.query and random.random() < 0.7:
        return replace(request, query=_change_value(random, request.query))
    return replace(request, headers=_change_value(random, request.headers))


def _removed(random: Random, request: Request) -> Request:
    if request.query and random.random() < 0.7:
        at = random.randrange(len(request.query))
        return replace(request, query=request.query[:at] + request.query[at + 1 :])
    at = random.randrange(len(request.headers))
    return replace(request, headers=request.headers[:at] + request.headers[at + 1 :])


def _repeated(random: Random, request: Request) -> Request:
    """A pair twice, with another value the second time."""
    if request.query and random.random() < 0.7:
        at = random.randrange(len(request.query))
        return replace(request, query=request.query + _change_value(random, request.query[at : at + 1]))
    at = random.randrange(len(request.headers))
    return replace(request, headers=request.headers + _change_value(random, request.headers[at : at + 1]))


def _odd_value(random: Random, request: Request) -> Request:
    text = values.text(random)
    odd = text.text.decode("latin-1") if isinstance(text, Raw) else str(text)
    odd = odd.replace("\n", "").replace("\0", "")
    if request.query:
        at = random.randrange(len(request.query))
        return replace(request, query=(*request.query[:at], (request.query[at][0], odd), *request.query[at + 1 :]))
    name, _ = request.headers[-1]
    return replace(request, headers=(*request.headers[:-1], (name, odd)))


def _other_body(random: Random, request: Request) -> Request:
    at = random.randrange(len(request.body))
    return replace(request, body=request.body[:at] + random.choice((b"", b" ", b"0", b"x")) + request.body[at + 1 :])


def _other_operation(random: Random, request: Request) -> Request:
    target = (
        "X-Amz-Target",
        f"DynamoDB_20120810.{random.choice(('Scan', 'DeleteTable', 'UpdateItem', 'DescribeTable'))}",
    )
    return replace(request, headers=(request.headers[0], target, *request.headers[2:]))


def _other_path(random: Random, request: Request) -> Request:
    return replace(request, path=random.choice(("/x", "//", "/.", "/%2f", "/%", "/é")))


def _other_method(random: Random, request: Request) -> Request:
    return replace(request, method=random.choice(("PUT", "DELETE", "PATCH", "OPTIONS")))


CHANGES: Final[tuple[Change, ...]] = (
    *(_changed_value, _changed_value, _changed_value, _removed, _repeated, _odd_value),
    *(_other_body, _other_operation, _other_path, _other_method),
)

"""Shard iterators: a reader's position in a stream, as opaque text.

    <stream's ARN>|1|base64 of:  space(4) shard(4) sequence(8) millisecond(8) checksum(8)

An iterator has everything that a read needs, so it survives a restart and works in other processes. `sequence` is the
first sequence number to read, or 0 for the oldest record that exists at the time of the read. `millisecond` is when the
iterator was issued. The checksum detects a damaged iterator.
"""

from __future__ import annotations

import struct
from base64 import b64decode, b64encode
from hashlib import blake2b
from typing import Final, NamedTuple

from sortkey.errors import ExpiredIteratorException, ValidationException
from sortkey.limits import STREAM_ITERATOR_SECONDS

TRIM_HORIZON: Final = 0

_FIELDS: Final = struct.Struct(">IIQQ")
_CHECKSUM_BYTES: Final = 8
_VERSION: Final = "1"


class ShardIterator(NamedTuple):
    arn: str
    space: int
    shard: int
    sequence: int
    issued: float

    def text(self) -> str:
        fields = _FIELDS.pack(self.space, self.shard, self.sequence, int(self.issued * 1000))
        return "|".join((self.arn, _VERSION, b64encode(fields + _checksum(self.arn, fields)).decode()))

    def check_age(self, now: float) -> None:
        if now - self.issued > STREAM_ITERATOR_SECONDS:
            raise ExpiredIteratorException("Shard iterator has expired")


def parse(text: str) -> ShardIterator:
    try:
        arn, version, encoded = text.split("|")
        content = b64decode(encoded, validate=True)
        fields, checksum = content[: _FIELDS.size], content[_FIELDS.size :]
        space, shard, sequence, millisecond = _FIELDS.unpack(fields)
    except (ValueError, struct.error):
        raise _invalid() from None
    if version != _VERSION or checksum != _checksum(arn, fields):
        raise _invalid()
    return ShardIterator(arn, space, shard, sequence, millisecond / 1000)


def _checksum(arn: str, fields: bytes) -> bytes:
    return blake2b(arn.encode() + fields, digest_size=_CHECKSUM_BYTES).digest()


def _invalid() -> ValidationException:
    return ValidationException("Invalid ShardIterator")

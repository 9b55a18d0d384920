"""Sealed values: bytes that show whether they are what was written, and under which key.

    value          payload(…) crc32 of the key(4) crc32 of all before it(4)

The last checksum is not begun with zero but with `RESIDUE`, which is what the crc32 of any bytes followed by their own
crc32 comes to. So a sound value leaves the checksum as it found it, and any number of values, joined, are verified by
one call. (A call for each value took three times as long: a tenth of a Query of 64 items.)

A read verifies the last checksum. The key's own checksum is verified by `check`, and when a folder is opened. zlib
computes the sums: isal would be four times as fast, but its vector instructions slow what runs after it.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final
from zlib import crc32

RESIDUE: Final = 0x2144DF1C
SEAL_BYTES: Final = 8
_SUM_BYTES: Final = 4
_SUM: Final = struct.Struct("<I")
_pack: Final = _SUM.pack

sum_of_key: Final = crc32
key_sum_at: Final = _SUM.unpack_from
"""Of bytes and the place of a seal in them: the checksum of the key, in a tuple."""


def seal(key: bytes, payload: bytes) -> bytes:
    """The value to store under a key."""
    body = payload + _pack(crc32(key))
    return body + _pack(crc32(body, RESIDUE))


def payload_of(value: bytes) -> bytes:
    return value[:-SEAL_BYTES]


def is_sound(value: bytes) -> bool:
    """Whether a value is as it was written."""
    return crc32(value, RESIDUE) == RESIDUE and len(value) >= SEAL_BYTES


def are_sound(values: Sequence[bytes]) -> bool:
    """Whether all values are as they were written."""
    # An empty value would leave no trace in the sum.
    return crc32(b"".join(values), RESIDUE) == RESIDUE and all(values)


def belongs_to(key: bytes, value: bytes) -> bool:
    """Whether a sound value was written under this key."""
    return value[-SEAL_BYTES:-_SUM_BYTES] == _pack(crc32(key))

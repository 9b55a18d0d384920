"""Key attributes as bytes that LMDB orders as DynamoDB orders the values.

A partition key becomes the hash of its bytes. A sort key becomes bytes that compare, within one type, as the values do.
None is a prefix of another, so more bytes can follow: the next attribute of a multi-attribute key, and the suffix of
index rows.

    S   each UTF-8 byte + 1, then 00        UTF-8 never uses FF, so nothing overflows and nothing grows
    N   see `number`
    B   groups of eight bytes, the last padded with 00, each followed by a marker: 09 when another group
        follows, otherwise how many of the eight are real (0 only for the empty value)

The longest sort key, 1,024 bytes, takes 1,152 bytes as B and 1,025 as S.
"""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Collection, Iterator, Sequence
from hashlib import blake2b
from itertools import product
from typing import Final

from sortkey.values import number

HASH_BYTES: Final = 16

TEXT_SHIFT: Final = bytes((byte + 1) & 0xFF for byte in range(256))
TEXT_END: Final = b"\x00"
_GROUP: Final = 8
_MORE: Final = b"\x09"


def partition_hash(tag: str, value: str) -> bytes:
    """The partition's position in the hash space. `value` is canonical, so equal keys have equal hashes."""
    return blake2b(_content_bytes(tag, value), digest_size=HASH_BYTES).digest()


def joint_hash(parts: bytes) -> bytes:
    """The hash of a partition key of several attributes, from their sort bytes joined together. Sort bytes have an
    end, so ("ab", "c") and ("a", "bc") are two partitions.
    """
    return blake2b(parts, digest_size=HASH_BYTES).digest()


def row_hash(partition: tuple[str, str], sort: tuple[str, str] | None = None) -> bytes:
    """The hash of a table row's key, from the tags and canonical values of its attributes. Rows of a global
    index with equal keys are ordered by it."""
    key = partition_hash(*partition) + (b"" if sort is None else sort_bytes(*sort))
    return blake2b(key, digest_size=HASH_BYTES).digest()


def _content_bytes(tag: str, value: str) -> bytes:
    if tag == "S":
        return value.encode()
    if tag == "N":
        return number.sort_bytes(value)
    return a2b_base64(value)


def sort_bytes(tag: str, value: str) -> bytes:
    if tag == "S":
        return value.encode().translate(TEXT_SHIFT) + TEXT_END
    if tag == "N":
        return number.sort_bytes(value)
    return _grouped(a2b_base64(value))


def _grouped(raw: bytes) -> bytes:
    last = max(0, len(raw) - 1) // _GROUP * _GROUP
    full = b"".join(raw[at : at + _GROUP] + _MORE for at in range(0, last, _GROUP))
    tail = raw[last:]
    return full + tail.ljust(_GROUP, b"\x00") + bytes((len(tail),))


def prefix_bounds(tag: str, value: str) -> tuple[bytes, bytes]:
    """The half-open range that holds the sort bytes of exactly those S or B values that begin with `value`."""
    if tag == "S":
        low = value.encode().translate(TEXT_SHIFT)
        # FF is above every encoded byte: UTF-8 ends at F4, so F5 is the largest.
        return low, low + b"\xff"
    low = _grouped(a2b_base64(value))
    group, real = low[-_GROUP - 1 : -1], low[-1]
    # The bytes after the prefix in its last group, and the marker, are all below FF.
    return low, low[: -_GROUP - 1] + group[:real].ljust(_GROUP + 1, b"\xff")


class KeyProduct(Collection[tuple[str, str]]):
    """The keys of a batch read whose partition keys and sort keys are combined.

    Every pair of a partition key and a sort key, both strings, partition by partition. It stores only the two
    sequences, which are much shorter than the list of pairs.
    """

    __slots__ = ("partitions", "sorts")

    def __init__(self, partitions: Sequence[str], sorts: Sequence[str]) -> None:
        self.partitions = partitions
        self.sorts = sorts

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return product(self.partitions, self.sorts)

    def __len__(self) -> int:
        return len(self.partitions) * len(self.sorts)

    def __contains__(self, pair: object) -> bool:
        return isinstance(pair, tuple) and len(pair) == 2 and pair[0] in self.partitions and pair[1] in self.sorts

    @property
    def distinct(self) -> bool:
        return len(set(self.partitions)) == len(self.partitions) and len(set(self.sorts)) == len(self.sorts)

"""Key ranges, read in either direction."""

from __future__ import annotations

from collections.abc import Iterator

from sortkey.storage.environment import Transaction


def ascending(transaction: Transaction, low: bytes, high: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Rows with low <= key < high, smallest key first."""
    cursor = transaction.cursor()
    if not cursor.set_range(low):
        return
    for key, value in cursor.iternext():
        if key >= high:
            return
        yield key, value


def descending(transaction: Transaction, low: bytes, high: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Rows with low <= key < high, greatest key first."""
    cursor = transaction.cursor()
    found = cursor.prev() if cursor.set_range(high) else cursor.last()
    if not found:
        return
    for key, value in cursor.iterprev():
        if key < low:
            return
        yield key, value


def after_prefix(prefix: bytes) -> bytes:
    """The smallest key greater than every key that begins with `prefix`."""
    kept = prefix.rstrip(b"\xff")
    if not kept:
        raise ValueError("no key is greater than every key that begins with only 0xff bytes")
    return kept[:-1] + bytes([kept[-1] + 1])

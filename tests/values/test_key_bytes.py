"""Key bytes: the layout, and its ends."""

from __future__ import annotations

from base64 import b64encode

import pytest

from sortkey.limits import SORT_KEY_BYTES
from sortkey.values import key_bytes, number


def base64(raw: bytes) -> str:
    return b64encode(raw).decode()


# The layouts are a file format: after a change, no stored key would be found.
@pytest.mark.parametrize(
    ("tag", "value", "encoded"),
    [
        ("S", "", "00"),
        ("S", "a\x00", "62 01 00"),
        ("S", "é", "c4 aa 00"),
        ("S", "\U0010ffff", "f5 90 c0 c0 00"),
        ("N", "-1", "00 7d f4 ff"),
        ("B", base64(b""), "0000000000000000 00"),
        ("B", base64(b"\x00"), "0000000000000000 01"),
        ("B", base64(b"abc"), "6162630000000000 03"),
        ("B", base64(b"abcdefgh"), "6162636465666768 08"),
        ("B", base64(b"abcdefghi"), "6162636465666768 09 6900000000000000 01"),
    ],
)
def test_sort_bytes_layout(tag: str, value: str, encoded: str) -> None:
    assert key_bytes.sort_bytes(tag, value) == bytes.fromhex(encoded)


# Table id, partition hash and, in an index, the hash of the item's own key stand beside it in one LMDB key.
def test_longest_sort_key_leaves_room_in_an_lmdb_key() -> None:
    raw = b"\xff" * SORT_KEY_BYTES
    assert len(key_bytes.sort_bytes("B", base64(raw))) == 1152
    assert len(key_bytes.sort_bytes("S", "x" * SORT_KEY_BYTES)) == 1025


@pytest.mark.parametrize(
    ("tag", "value", "digest"),
    [
        ("S", "abc", "cf4ab791c62b8d2b2109c90275287816"),
        ("B", base64(b"abc"), "cf4ab791c62b8d2b2109c90275287816"),
    ],
)
def test_partition_hash_layout(tag: str, value: str, digest: str) -> None:
    assert key_bytes.partition_hash(tag, value).hex() == digest


def test_partition_hash_of_a_number_is_of_its_value() -> None:
    assert key_bytes.partition_hash("N", number.canonical("1.0")) == key_bytes.partition_hash("N", "1")


# A prefix of FF bytes has no successor of its own length.
def test_prefix_of_the_highest_bytes_still_has_an_upper_bound() -> None:
    low, high = key_bytes.prefix_bounds("B", base64(b"\xff" * 8))
    assert low <= key_bytes.sort_bytes("B", base64(b"\xff" * 40)) < high


# The shorter value is padded to the same eight bytes; only its marker differs.
def test_prefix_that_ends_in_zero_leaves_the_shorter_value_out() -> None:
    low, _ = key_bytes.prefix_bounds("B", base64(b"a\x00"))
    assert key_bytes.sort_bytes("B", base64(b"a")) < low

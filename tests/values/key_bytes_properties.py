"""Key bytes against Python's own order of bytes and its `startswith`."""

from __future__ import annotations

from base64 import b64encode

from hypothesis import given
from hypothesis import strategies as st

from sortkey.values import key_bytes
from tests.values.strategies import texts

# Few letters, so that values often share prefixes; the lowest and the highest, so that padding is tried.
close_texts = st.text(st.sampled_from("\x00\x01aé\U0010ffff"), max_size=6) | texts
close_binaries = st.lists(st.sampled_from([0, 1, 8, 9, 255]), max_size=20).map(bytes) | st.binary(max_size=20)
suffixes = st.binary(min_size=16, max_size=16)


def s(text: str) -> bytes:
    return key_bytes.sort_bytes("S", text)


def b(raw: bytes) -> bytes:
    return key_bytes.sort_bytes("B", base64(raw))


def base64(raw: bytes) -> str:
    return b64encode(raw).decode()


# With any suffix, a smaller key still comes first: no key is a prefix of another.
@given(close_texts, close_texts, suffixes, suffixes)
def test_strings_order_by_utf8(left: str, right: str, after_left: bytes, after_right: bytes) -> None:
    if left != right:
        assert (s(left) + after_left < s(right) + after_right) == (left.encode() < right.encode())


@given(close_binaries, close_binaries, suffixes, suffixes)
def test_binaries_order_as_unsigned_bytes(left: bytes, right: bytes, after_left: bytes, after_right: bytes) -> None:
    if left != right:
        assert (b(left) + after_left < b(right) + after_right) == (left < right)


@given(close_texts, close_texts, suffixes)
def test_string_prefix_bounds_hold_what_begins_so(prefix: str, other: str, suffix: bytes) -> None:
    low, high = key_bytes.prefix_bounds("S", prefix)
    for text in (other, prefix + other, prefix[:-1]):
        assert (low <= s(text) + suffix < high) == text.startswith(prefix)


@given(close_binaries, close_binaries, suffixes)
def test_binary_prefix_bounds_hold_what_begins_so(prefix: bytes, other: bytes, suffix: bytes) -> None:
    low, high = key_bytes.prefix_bounds("B", base64(prefix))
    for raw in (other, prefix + other, prefix[:-1]):
        assert (low <= b(raw) + suffix < high) == raw.startswith(prefix)

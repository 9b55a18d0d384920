"""Sealed values show every flipped bit, alone and among others."""

from __future__ import annotations

import pytest

from sortkey.storage import SEAL_BYTES, are_sound, belongs_to, is_sound, payload_of, seal

KEY = b"\0\0\0\x10key"
PAYLOADS = [b"", b"\0", b"payload", b"\0" * 300, bytes(range(256))]


@pytest.mark.parametrize("payload", PAYLOADS)
def test_value_is_sound_and_has_its_payload_and_key(payload: bytes) -> None:
    value = seal(KEY, payload)
    assert (is_sound(value), belongs_to(KEY, value), payload_of(value)) == (True, True, payload)
    assert len(value) == len(payload) + SEAL_BYTES


@pytest.mark.parametrize("payload", PAYLOADS)
def test_every_flipped_bit_is_found(payload: bytes) -> None:
    value = seal(KEY, payload)
    others = [seal(b"before", b"before"), seal(b"after", b"after")]
    for bit in range(8 * len(value)):
        flipped = bytearray(value)
        flipped[bit // 8] ^= 1 << bit % 8
        assert not is_sound(bytes(flipped))
        assert not are_sound([others[0], bytes(flipped), others[1]])


def test_value_under_another_key_is_found() -> None:
    value = seal(KEY, b"payload")
    for bit in range(8 * len(KEY)):
        other = bytearray(KEY)
        other[bit // 8] ^= 1 << bit % 8
        assert not belongs_to(bytes(other), value)


def test_many_sound_values_are_sound_together() -> None:
    assert are_sound([])
    assert are_sound([seal(KEY, payload) for payload in PAYLOADS * 20])


# Nothing is what the sum of nothing looks like.
def test_empty_value_is_not_sound() -> None:
    assert not is_sound(b"")
    assert not are_sound([seal(KEY, b"a"), b"", seal(KEY, b"b")])

"""Ranges against a sorted dictionary."""

from __future__ import annotations

from collections.abc import Iterator

import lmdb
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sortkey.storage import after_prefix, ascending, descending, environment

# Few different bytes, the extreme ones among them, so that keys often begin alike.
keys = st.lists(st.sampled_from([0, 1, 0x61, 0xFE, 0xFF]), min_size=1, max_size=5).map(bytes)


@pytest.fixture(scope="module")
def opened() -> Iterator[lmdb.Environment]:
    opened = environment.open_memory()
    yield opened
    opened.close()


@given(rows=st.dictionaries(keys, st.binary(max_size=3)), low=keys, high=keys)
def test_both_directions_give_the_rows_between(
    opened: lmdb.Environment, rows: dict[bytes, bytes], low: bytes, high: bytes
) -> None:
    expected = sorted((key, value) for key, value in rows.items() if low <= key < high)
    with opened.begin(write=True) as transaction:
        transaction.delete(environment.FORMAT_KEY)
        for key, value in rows.items():
            transaction.put(key, value)
        assert list(ascending(transaction, low, high)) == expected
        assert list(descending(transaction, low, high)) == expected[::-1]
        transaction.abort()


@given(prefix=keys, key=keys)
def test_after_prefix_ends_the_keys_that_begin_with_it(prefix: bytes, key: bytes) -> None:
    assume(prefix.strip(b"\xff"))
    end = after_prefix(prefix)
    assert (prefix <= key < end) == key.startswith(prefix)


def test_nothing_comes_after_the_greatest_prefix() -> None:
    with pytest.raises(ValueError, match="0xff"):
        after_prefix(b"\xff\xff")

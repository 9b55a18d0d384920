"""Items as they are stored."""

from __future__ import annotations

from sortkey.engine.rows import stored_item
from sortkey.engine.rows.stored_item import Json
from sortkey.storage import seal

KEY = b"key"
ITEM = {"id": {"S": "é"}, "v": {"N": "1"}}
TEXT = '{"id":{"S":"é"},"v":{"N":"1"}}'.encode()


def test_row_is_a_header_and_json_and_a_seal() -> None:
    assert stored_item.encode(KEY, ITEM, 7, binary=False) == seal(KEY, b"\0\0\0\x07" + TEXT)
    assert stored_item.encode(KEY, ITEM, 7, binary=True) == seal(KEY, b"\x80\0\0\x07" + TEXT)


# An index that projects everything holds the table's row, under a key of its own.
def test_row_under_another_key() -> None:
    row = stored_item.under(b"other", stored_item.encode(KEY, ITEM, 7, binary=False))
    assert row == stored_item.encode(b"other", ITEM, 7, binary=False)


# The flag shares a word with the size, but is not part of it.
def test_size_and_flag_do_not_mix() -> None:
    for binary in (False, True):
        row = stored_item.encode(KEY, ITEM, 400 * 1024, binary)
        assert (stored_item.size(row), stored_item.has_binary(row)) == (400 * 1024, binary)
        assert stored_item.decode(row) == ITEM


def test_items_are_spliced_into_one_list() -> None:
    text, binary = stored_item.encode(KEY, ITEM, 7, binary=False), stored_item.encode(KEY, ITEM, 7, binary=True)
    assert Json.items([]).text == b"[]"
    assert Json.items([text, text]).text == b"[" + TEXT + b"," + TEXT + b"]"
    assert [Json.items(rows).binary for rows in ([text], [text, binary])] == [False, True]

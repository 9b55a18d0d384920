"""Items as they are stored."""

from __future__ import annotations

from sortkey.engine.rows import stored_item
from sortkey.engine.rows.stored_item import Json

ITEM = {"id": {"S": "é"}, "v": {"N": "1"}}
TEXT = '{"id":{"S":"é"},"v":{"N":"1"}}'.encode()


def test_row_is_a_header_and_json() -> None:
    assert stored_item.encode(ITEM, 7, binary=False) == b"\0\0\0\x07" + TEXT
    assert stored_item.encode(ITEM, 7, binary=True) == b"\x80\0\0\x07" + TEXT


# The flag shares a word with the size, but is not part of it.
def test_size_and_flag_do_not_mix() -> None:
    for binary in (False, True):
        row = stored_item.encode(ITEM, 400 * 1024, binary)
        assert (stored_item.size(row), stored_item.has_binary(row)) == (400 * 1024, binary)
        assert stored_item.decode(row) == ITEM


def test_items_are_spliced_into_one_list() -> None:
    text, binary = stored_item.encode(ITEM, 7, binary=False), stored_item.encode(ITEM, 7, binary=True)
    assert Json.items([]).text == b"[]"
    assert Json.items([text, text]).text == b"[" + TEXT + b"," + TEXT + b"]"
    assert [Json.items(rows).binary for rows in ([text], [text, binary])] == [False, True]

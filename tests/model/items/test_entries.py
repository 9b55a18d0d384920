"""Entries as they are declared and read."""

from __future__ import annotations

import pytest

import sortkey as sk
from sortkey.model.items.item import schema_of


class Note(sk.Item):
    text: str


class Page(sk.Item, table=sk.Table("pages")):
    page: int

    notes = sk.Entries(Note, "note:")
    key = sk.Key("{page:04}")


def test_entries_are_the_attributes_under_their_prefix() -> None:
    page = Page.notes.replaced(Page(page=1), {"a": Note(text="x")})
    row = schema_of(Page).encode(page)
    assert row["note:a"] == {"M": {"text": {"S": "x"}}}
    read = schema_of(Page).decode(row | {"other": {"S": "kept"}})
    assert read.notes == {"a": Note(text="x")}
    # What else a row has stays with the item.
    assert sk.extra(Page.notes.replaced(read, {})) == {"other": {"S": "kept"}}


def test_an_item_without_entries_has_none() -> None:
    assert Page(page=1).notes == {}
    assert Page.notes.replaced(Page.notes.replaced(Page(page=1), {"a": Note(text="x")}), {}).notes == {}


def test_an_entry_that_is_no_struct_is_named() -> None:
    row = schema_of(Page).encode(Page(page=1)) | {"note:a": {"S": "x"}}
    with pytest.raises(sk.DecodeError, match=r"notes\['a'\]"):
        _ = schema_of(Page).decode(row).notes


def test_a_prefix_that_would_take_other_attributes_is_rejected() -> None:
    with pytest.raises(sk.DeclarationError, match="'notepad' also starts with 'note'"):

        class Clash(sk.Item, table=sk.Table("clash")):
            page: str
            notepad: str
            notes = sk.Entries(Note, "note")
            key = sk.Key("{page}")

    with pytest.raises(sk.DeclarationError, match="'note:old:' also starts with 'note:'"):

        class Nested(sk.Item, table=sk.Table("nested")):
            page: str
            notes = sk.Entries(Note, "note:")
            old = sk.Entries(Note, "note:old:")
            key = sk.Key("{page}")

    with pytest.raises(sk.DeclarationError, match="need a prefix"):
        sk.Entries(Note, "")

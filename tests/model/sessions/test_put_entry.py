"""Entries of an item: one conditional write each, whether or not the item exists."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import sortkey as sk

SHELVES = sk.Table("shelves")


class Book(sk.Item):
    title: str
    updated: int = 0


class Shelf(sk.Item, table=SHELVES):
    room: str
    shelf: int
    labels: set[str] = sk.field(default_factory=set)
    revision: int = 0
    note: str | None = None

    books = sk.Entries(Book, "book:")
    key = sk.Key("{room}", "{shelf:03}")


PATH = Shelf.key(room="hall", shelf=1)
EMMA, EMMA_LATER = Book(title="Emma", updated=1), Book(title="Emma", updated=2)


@pytest.fixture
def db(store: str) -> Iterator[sk.Session]:
    with sk.connect(store, tables=[SHELVES]) as session:
        session.create_tables()
        yield session


def test_the_first_entry_creates_the_item(db: sk.Session) -> None:
    written, item = db.put_entry(PATH, Shelf.books, "a", EMMA, newer_by="updated")
    assert written
    assert (item.room, item.shelf, item.books) == ("hall", 1, {"a": EMMA})
    assert db.get(PATH, consistent=True) == item


# Neither a read nor a lock: each entry has its own version.
def test_entries_leave_each_other_alone(db: sk.Session) -> None:
    db.put_entry(PATH, Shelf.books, "a", EMMA_LATER, newer_by="updated")
    assert db.put_entry(PATH, Shelf.books, "b", EMMA, newer_by="updated").item.books == {"a": EMMA_LATER, "b": EMMA}


@pytest.mark.parametrize("late", [EMMA, EMMA_LATER])
def test_an_entry_that_is_no_newer_changes_nothing(db: sk.Session, late: Book) -> None:
    db.put_entry(PATH, Shelf.books, "a", EMMA_LATER, newer_by="updated")
    late = sk.replace(late, title="Emma again")
    written, item = db.put_entry(PATH, Shelf.books, "a", late, newer_by="updated", changes={"note": "late"})
    assert not written
    assert (item.books, item.note) == ({"a": EMMA_LATER}, None)


def test_changes_of_fields_go_with_it(db: sk.Session) -> None:
    db.put_entry(PATH, Shelf.books, "a", EMMA, newer_by="updated", changes=[sk.F(Shelf.revision).add(1), {"note": "x"}])
    item = db.put_entry(
        PATH,
        Shelf.books,
        "a",
        EMMA_LATER,
        newer_by="updated",
        changes=[sk.F(Shelf.revision).add(1), sk.F(Shelf.labels).add({"new"}), {"note": None}],
    ).item
    assert (item.note, item.revision, item.labels) == (None, 2, {"new"})


def test_further_conditions_hold_for_a_new_item_and_an_old_one(db: sk.Session) -> None:
    few = sk.F(Shelf.labels).size <= 1
    for name in ("a", "b"):
        added = [sk.F(Shelf.labels).add({name})]
        assert db.put_entry(PATH, Shelf.books, name, EMMA, newer_by="updated", changes=added, where=few).written
    written, item = db.put_entry(PATH, Shelf.books, "c", EMMA, newer_by="updated", where=few)
    assert not written
    assert item.books.keys() == {"a", "b"}
    with pytest.raises(sk.ItemMissing, match=r"Shelf.key\(.*\) does not exist"):
        db.put_entry(
            Shelf.key(room="hall", shelf=2), Shelf.books, "a", EMMA, newer_by="updated", where=sk.F(Shelf.note).exists()
        )


def test_a_whole_item_is_put_with_its_entries(db: sk.Session) -> None:
    db.put(Shelf.books.replaced(Shelf(room="hall", shelf=1), {"a": EMMA, "b": EMMA}))
    read = db.get(PATH, consistent=True)
    assert read is not None
    assert read.books == {"a": EMMA, "b": EMMA}
    db.put(Shelf.books.replaced(read, {"b": EMMA}))
    assert db.put_entry(PATH, Shelf.books, "b", EMMA, newer_by="updated").item.books == {"b": EMMA}


# An index key may need a field that is not given, and an old row an upgrade: both need a read.
def test_classes_that_have_to_be_read_are_rejected(db: sk.Session) -> None:
    class Indexed(sk.Item, table=sk.Table("indexed")):
        room: str
        books = sk.Entries(Book, "book:")
        key = sk.Key("{room}")
        by_room = sk.Index("gsi1", "ROOM#{room}")

    class Versioned(sk.Item, table=sk.Table("versioned"), version=2):
        room: str
        books = sk.Entries(Book, "book:")
        key = sk.Key("{room}")

    class Demanding(sk.Item, table=sk.Table("demanding")):
        room: str
        owner: str
        books = sk.Entries(Book, "book:")
        key = sk.Key("{room}")

    with pytest.raises(sk.Unsupported, match="Indexed has indexes"):
        db.put_entry(Indexed.key(room="hall"), Indexed.books, "a", EMMA, newer_by="updated")
    with pytest.raises(sk.Unsupported, match="Versioned has versions"):
        db.put_entry(Versioned.key(room="hall"), Versioned.books, "a", EMMA, newer_by="updated")
    with pytest.raises(sk.EncodeError, match="would lack owner"):
        db.put_entry(Demanding.key(room="hall"), Demanding.books, "a", EMMA, newer_by="updated")


def test_what_can_never_be_written_is_rejected(db: sk.Session) -> None:
    with pytest.raises(sk.EncodeError, match="the name of an entry is empty"):
        db.put_entry(PATH, Shelf.books, "", EMMA, newer_by="updated")
    with pytest.raises(sk.UnknownField, match="no field 'age'"):
        db.put_entry(PATH, Shelf.books, "a", EMMA, newer_by="age")
    with pytest.raises(sk.KeyChange, match="primary key"):
        db.put_entry(PATH, Shelf.books, "a", EMMA, newer_by="updated", changes=[sk.F(Shelf.shelf).add(1)])

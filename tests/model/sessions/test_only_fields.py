"""`only=` and `whole=`: which parts of the items a read returns."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any

import pytest

import sortkey as sk
from tests.model.sessions.old_rows import put_row
from tests.model.sessions.shop import Customer, Order, order

ADA = Order.key(customer="ada")
ONLY = sk.Table("only-books")


class Book(sk.Item, table=ONLY, version=2):
    id: str
    shelf: str
    pages: int = 1
    text: str = "none"

    key = sk.Key("BOOK#{id}", "BOOK")
    by_shelf = sk.Index("gsi1", "SHELF#{shelf}", "{id}", projection="KEYS_ONLY")


@Book.upgrade(1)
def pages_were_text(old: dict[str, Any]) -> dict[str, Any]:
    return {**old, "pages": int(old["pages"])}


class Film(sk.Item, table=ONLY):
    id: Annotated[str, sk.in_key]
    made: datetime
    minutes: int
    studio: str
    note: str | None = None

    key = sk.Key("FILM#{id}", "FILM")
    by_studio = sk.Index("gsi2", "STUDIO#{studio}", "{id}")


class Play(sk.Item, table=ONLY):
    id: Annotated[str, sk.in_key]
    city: str
    note: str = ""

    key = sk.Key("PLAY#{id}", "PLAY")
    by_city = sk.Index("gsi2", "CITY#{city}", "{id}")
    by_id = sk.Index("gsi1", "PLAYS#{id}", "{city}", projection="KEYS_ONLY")


FILM = Film(id="f", made=datetime(2026, 1, 1, tzinfo=UTC), minutes=90, studio="s", note="long")


def sent(db: sk.Session, call: Any) -> dict[str, Any]:
    """The last request of a call."""
    requests: list[Any] = []
    events = db._run

    def run(steps: Any) -> Any:
        def watched() -> Any:
            answer = None
            while True:
                try:
                    step = steps.send(answer)
                except StopIteration as stop:
                    return stop.value
                requests.append(step)
                answer = yield step

        return events(watched())

    db._run = run
    try:
        call()
    finally:
        db._run = events
    members: dict[str, Any] = requests[-1].members
    return members


def test_get_returns_these_fields_and_the_key(db: sk.Session) -> None:
    db.put(order(1, total=Decimal(7), visits=3))
    found = db.get(order(1).key, only=["total", sk.F(Order.status)], consistent=True)
    assert found is not None
    assert sk.is_partial(found)
    assert (found.customer, found.number, found.total, found.status) == ("ada", 1, Decimal(7), "OPEN")
    for name in ("visits", "city", "notes"):
        with pytest.raises(sk.PartialItem, match=r"only= left it out; db\.whole\(items\) reads whole items"):
            getattr(found, name)
    assert db.whole([found]) == [order(1, total=Decimal(7), visits=3)]
    assert pickle.loads(pickle.dumps(found)) == found
    assert db.get(order(2).key, only=["total"]) is None


def test_a_part_is_never_written_back(db: sk.Session) -> None:
    db.put(order(1))
    found = db.get(order(1).key, only=["total"])
    assert found is not None
    with pytest.raises(sk.PartialItem, match="only= left it out"):
        db.put(found)
    with pytest.raises(sk.PartialItem):
        sk.replace(found, total=Decimal(9))
    assert db.update(found.key, {"total": Decimal(9)}).total == 9


def test_iterate(db: sk.Session) -> None:
    db.batch(put=[*(order(number, city="Rome", visits=number % 3) for number in range(20)), Customer(customer="ada")])
    some = list(db.iterate(ADA, only=["visits"], where={"city": "Rome"}, limit=7))
    assert [(each.number, each.visits) for each in some] == [(number, number % 3) for number in range(7)]
    assert all(sk.is_partial(each) for each in some)
    indexed = list(db.iterate(Order.by_status(status="OPEN"), only=[], descending=True))
    assert [(each.customer, each.number) for each in indexed] == [("ada", number) for number in range(19, -1, -1)]


def test_pages_have_the_same_cursors(db: sk.Session) -> None:
    db.batch(put=[order(number, visits=number) for number in range(9)])
    page = db.page(ADA, first=4, only=["visits"])
    assert [each.visits for each in page] == [0, 1, 2, 3]
    assert page.end_cursor == db.page(ADA, first=4).end_cursor
    assert [each.number for each in db.page(ADA, first=4, after=page.end_cursor)] == [4, 5, 6, 7]


# The store sends no more than that.
def test_the_request_has_a_projection(memory: sk.Session) -> None:
    members = sent(memory, lambda: list(memory.iterate(ADA, only=["total"])))
    names = members["ExpressionAttributeNames"]
    assert [names[name] for name in members["ProjectionExpression"].split(", ")] == ["pk", "sk", "_v", "total"]
    members = sent(memory, lambda: memory.get(order(1).key, only=["status"]))
    names = members["ExpressionAttributeNames"]
    asked = [names[name] for name in members["ProjectionExpression"].split(", ")]
    # A row may have a field in an index key only.
    assert asked == ["pk", "sk", "gsi1pk", "gsi1sk", "gsi2pk", "gsi2sk", "_v", "status"]


# What the attribute says counts, not a key that may be stale; and a key counts where there is no attribute.
def test_fields_show_what_whole_items_show(db: sk.Session) -> None:
    db.create_tables(ONLY)
    db.put(FILM)
    row = db.client.get_item(TableName="only-books", Key=FILM.key.key())["Item"]
    put_row(db, {**row, "gsi2pk": {"S": "STUDIO#stale"}, "pk": {"S": "FILM#1"}}, "only-books")
    put_row(db, {name: row[name] for name in row if name != "note"} | {"pk": {"S": "FILM#3"}}, "only-books")
    for number in "13":
        path = Film.key(id=number)
        part, whole = db.get(path, only=["id", "studio", "note", "made"]), db.get(path)
        assert part is not None
        assert whole is not None
        assert (part.id, part.studio, part.note, part.made) == (number, whole.studio, whole.note, whole.made)
        with pytest.raises(sk.PartialItem):
            _ = part.minutes


# Neither key decides: the field is an attribute, and the row lacks it.
def test_a_required_field_that_only_keys_have_is_missing(db: sk.Session) -> None:
    db.create_tables(ONLY)
    keys = {"gsi2pk": "CITY#Rome", "gsi2sk": "1", "gsi1pk": "PLAYS#1", "gsi1sk": "Oslo"}
    put_row(db, {name: {"S": value} for name, value in {"pk": "PLAY#1", "sk": "PLAY", **keys}.items()}, "only-books")
    for only in (["city"], None):
        with pytest.raises(sk.DecodeError, match="has no attribute city, and an index key has it"):
            db.get(Play.key(id="1"), only=only)


# An upgrade needs the whole row, and so does a filter that the store cannot judge.
def test_rows_of_an_older_version(db: sk.Session) -> None:
    db.create_tables(ONLY)
    old = {"pk": "BOOK#1", "sk": "BOOK", "id": "1", "shelf": "a", "pages": "300", "gsi1pk": "SHELF#a", "gsi1sk": "1"}
    put_row(db, {name: {"S": value} for name, value in old.items()}, "only-books")
    db.put(Book(id="2", shelf="a", pages=5))
    for where, pages in (({"pages": 300}, [300]), ({"pages": 5}, []), (None, [300])):
        found = list(db.iterate(Book.key(id="1"), only=["pages"], where=where))
        assert [each.pages for each in found] == pages
        assert all(sk.is_partial(each) for each in found)
    assert db.get(Book.key(id="2"), only=["pages"]) != Book(id="2", shelf="a", pages=5)


def test_whole_reads_what_an_index_lacks(db: sk.Session) -> None:
    db.create_tables(ONLY)
    books = [Book(id=f"{number:03}", shelf="a", text=f"text {number}") for number in range(120)]
    db.batch(put=books)
    shelf = Book.by_shelf(shelf="a")
    assert list(db.iterate(shelf, whole=True)) == books
    assert list(db.iterate(shelf, whole=True, limit=3, descending=True)) == books[:-4:-1]
    page = db.page(shelf, first=50, whole=True)
    assert page.items == books[:50]
    assert db.page(shelf, first=50, after=page.end_cursor, whole=True).items == books[50:100]
    # On other paths there is nothing to read again.
    assert list(db.iterate(books[0].key, whole=True)) == books[:1]


# The index may still have an item that has been deleted.
def test_whole_leaves_out_items_that_are_gone(memory: sk.Session) -> None:
    memory.create_tables(ONLY)
    books = [Book(id=str(number), shelf="a") for number in range(5)]
    memory.batch(put=books)
    perform = memory._runner._perform_all

    def late(calls: Any, deadline: Any) -> Any:
        memory.client.delete_item(TableName="only-books", Key=books[1].key.key())
        return perform(calls, deadline)

    memory._runner._perform_all = late  # type: ignore[method-assign]
    page = memory.page(Book.by_shelf(shelf="a"), first=3, whole=True)
    assert page.items == [books[0], books[2]]
    assert page.has_next
    memory._runner._perform_all = perform  # type: ignore[method-assign]
    assert memory.page(Book.by_shelf(shelf="a"), after=page.end_cursor, whole=True).items == books[3:]


@pytest.mark.parametrize("call", ["get", "iterate", "page"])
def test_wrong_arguments(memory: sk.Session, call: str) -> None:
    def read(path: sk.AccessPath[Any], only: Any) -> None:
        found = getattr(memory, call)(path, only=only)
        if call == "iterate":
            list(found)

    with pytest.raises(TypeError, match=r"only= takes a list of fields: only=\['total'\]"):
        read(order(1).key, "total")
    with pytest.raises(sk.UnknownField, match="Order has no field 'totl'; did you mean 'total'"):
        read(order(1).key, ["totl"])


def test_paths_without_whole_items(memory: sk.Session) -> None:
    with pytest.raises(sk.NoAccessPath, match="gsi1 does not have whole items"):
        list(memory.iterate(Book.by_shelf(shelf="a"), only=["text"]))
    with pytest.raises(sk.NoAccessPath, match="several classes"):
        list(memory.iterate(sk.collection(Customer.key, customer="ada"), only=["name"]))
    with pytest.raises(ValueError, match="only= or whole=, not both"):
        list(memory.iterate(ADA, only=["total"], whole=True))

"""sk.created and sk.updated: sessions set them with their clock, in every write."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import pytest

import sortkey as sk
from sortkey.clock import ManualClock
from tests.stores import needs

NOTES = sk.Table("stamped-notes", transactions=True)
START = datetime.fromtimestamp(1_750_000_000, UTC)


class Tag(sk.Item):
    at: int


class Note(sk.Item, table=NOTES):
    owner: str
    id: str
    text: str = ""
    created: Annotated[datetime | None, sk.created] = None
    updated: Annotated[datetime | None, sk.updated] = None
    touched: Annotated[datetime | None, sk.updated, sk.epoch] = None

    key = sk.Key("OWNER#{owner}", "NOTE#{id}")
    by_update = sk.Index("gsi1", "OWNER#{owner}", "{updated}#{id}")


class Fixed(sk.Item, table=NOTES, frozen=True):  # type: ignore[misc]
    id: str
    text: str = ""
    created: Annotated[datetime | None, sk.created] = None
    key = sk.Key("FIXED#{id}", "FIXED")


class Board(sk.Item, table=NOTES):
    id: str
    created: Annotated[datetime | None, sk.created] = None
    updated: Annotated[datetime | None, sk.updated] = None
    tags = sk.Entries(Tag, "tag:")
    key = sk.Key("BOARD#{id}", "BOARD")


ONE = Note.key(owner="ada", id="1")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def db(store: str, clock: ManualClock) -> Iterator[sk.Session]:
    with sk.connect(store, tables=[NOTES], clock=clock) as session:
        session.create_tables()
        yield session


def note(**values: Any) -> Note:
    return Note(**{"owner": "ada", "id": "1", **values})


def minutes(count: float) -> datetime:
    return START + timedelta(minutes=count)


def test_a_put_sets_both_in_the_item_and_in_the_store(db: sk.Session) -> None:
    made = note()
    assert (made.created, made.updated) == (None, None)
    assert db.put(made)
    assert made == note(created=START, updated=START, touched=START)
    assert db.get(ONE) == made


# A put replaces the item without reading it, so what it creates is what the program gives it.
def test_an_item_that_was_read_keeps_its_creation_and_a_new_one_does_not(db: sk.Session, clock: ManualClock) -> None:
    db.put(note())
    clock.advance(60)
    found = db.get(ONE)
    assert found is not None
    db.put(sk.replace(found, text="second"))
    again = db.get(ONE)
    assert again is not None
    assert (again.created, again.updated) == (START, minutes(1))
    db.put(note())
    assert db.get(ONE) == note(created=minutes(1), updated=minutes(1), touched=minutes(1))


def test_an_update_sets_updated_and_its_index_key(db: sk.Session, clock: ManualClock) -> None:
    db.put(note())
    db.put(note(id="2"))
    clock.advance(60)
    changed = db.update(ONE, {"text": "new"})
    assert (changed.created, changed.updated, changed.touched) == (START, minutes(1), minutes(1))
    assert [each.id for each in db.iterate(Note.by_update(owner="ada"))] == ["2", "1"]
    assert db.update(ONE, {"updated": minutes(9)}).updated == minutes(9)


# The store cannot tell when such a row was created, and neither can the session.
def test_an_update_of_a_row_that_is_older_than_the_field_invents_no_creation(db: sk.Session) -> None:
    db.client.put_item(TableName="stamped-notes", Item=dict(ONE.key()))
    assert db.update(ONE, {"text": "new"}).created is None


def test_upsert_creates_and_updates(db: sk.Session, clock: ManualClock) -> None:
    made = db.upsert(ONE, {"text": "a"})
    assert (made.created, made.updated) == (START, START)
    clock.advance(60)
    made = db.upsert(ONE, {"text": "b"})
    assert (made.created, made.updated) == (START, minutes(1))
    fixed = db.upsert(Fixed.key(id="1"), {"text": "a"})
    assert fixed.created == minutes(1)
    assert db.get(Fixed.key(id="1")) == fixed


def test_a_put_that_is_not_made_leaves_the_item(db: sk.Session) -> None:
    db.put(note())
    other = note()
    assert not db.put(other, if_absent=True)
    assert other.created is None


# The time of the put says nothing about which of two versions is newer.
def test_a_stamp_does_not_order_versions(db: sk.Session) -> None:
    with pytest.raises(
        sk.EncodeError, match=r"Note.updated is set by the session \(sk.updated\), so it does not order"
    ):
        db.put(note(), newer_by="updated")


def test_batches(db: sk.Session) -> None:
    notes = [note(id=str(number)) for number in range(3)]
    db.batch(put=notes)
    assert [each.created for each in notes] == [START] * 3
    assert list(db.iterate(Note.key(owner="ada"))) == notes


# A transaction that is sent again must be the same request, or its token would not match.
def test_a_transaction_has_the_time_of_its_first_attempt(db: sk.Session, clock: ManualClock) -> None:
    needs(db.capabilities, "transactions")
    db.put(note())
    clock.advance(60)
    made = note(id="2")
    transaction = sk.Transaction()
    transaction.put(made)
    transaction.update(ONE, {"text": "new"})
    db.transact(transaction)
    assert made.created == minutes(1)
    changed = db.get(ONE)
    assert changed is not None
    assert (changed.created, changed.updated) == (START, minutes(1))
    clock.advance(60)
    db.transact(transaction)
    assert db.get(Note.key(owner="ada", id="2")) == made
    assert made.updated == minutes(1)


class Ticking(ManualClock):
    """A minute passes whenever it is read."""

    def now(self) -> float:
        self.advance(60)
        return super().now()


def test_all_items_of_a_transaction_and_of_a_batch_have_one_time() -> None:
    with sk.connect("memory:", tables=[NOTES], clock=Ticking()) as db:
        db.create_tables()
        notes = [note(id=str(number)) for number in range(3)]
        db.batch(put=notes)
        assert len({each.updated for each in notes}) == 1
        made = [note(id="4"), note(id="5")]
        transaction = sk.Transaction()
        for each in made:
            transaction.put(each)
        transaction.update(Note.key(owner="ada", id="1"), {"text": "new"})
        db.transact(transaction)
        changed = db.get(Note.key(owner="ada", id="1"), consistent=True)
        assert changed is not None
        assert {each.updated for each in made} == {changed.updated}
        assert changed.updated != notes[0].updated


class Basket(sk.Item, table=NOTES):
    id: str
    lines: list[str] = sk.field(default_factory=list)
    size: dict[str, list[int]] = sk.field(default_factory=dict)
    revision: int = 0
    key = sk.Key("BASKET#{id}", "BASKET")


class StampedBasket(sk.Item, table=NOTES):
    id: str
    lines: list[str] = sk.field(default_factory=list)
    size: dict[str, list[int]] = sk.field(default_factory=dict)
    revision: int = 0
    updated: Annotated[datetime | None, sk.updated] = None
    key = sk.Key("STAMPED#{id}", "BASKET")


# Stamps are set when the transaction is sent, but nothing else is taken from the item then.
@pytest.mark.parametrize("basket", [Basket, StampedBasket])
def test_a_transaction_writes_what_it_was_given(basket: Any) -> None:
    with sk.connect("memory:", tables=[NOTES]) as db:
        db.create_tables()
        db.put(basket(id="2", lines=["a"], size={"a": [1]}))
        made, lines, sizes = basket(id="1", lines=["a"]), ["b"], [2]
        transaction = sk.Transaction()
        transaction.put(made, if_version="revision")
        transaction.update(basket.key(id="2"), {"lines": lines, "size.a": sizes})
        for each in (made.lines, lines):
            each.append("late")
        sizes.append(3)
        made.revision = 7
        db.transact(transaction)
        assert made.revision == 1
        stored: list[Any] = [db.get(basket.key(id=each)) for each in ("1", "2")]
        assert [(each.lines, each.size, each.revision) for each in stored] == [
            (["a"], {}, 1),
            (["b"], {"a": [2]}, 0),
        ]


def test_put_entry_sets_them_where_it_creates_the_item(db: sk.Session, clock: ManualClock) -> None:
    board = Board.key(id="1")
    made = db.put_entry(board, Board.tags, "a", Tag(at=1), newer_by="at").item
    assert (made.created, made.updated) == (START, START)
    clock.advance(60)
    made = db.put_entry(board, Board.tags, "b", Tag(at=1), newer_by="at").item
    assert (made.created, made.updated) == (START, minutes(1))
    again = db.put_entry(board, Board.tags, "b", Tag(at=1), newer_by="at")
    assert (again.written, again.item) == (False, made)
    late = Board.key(id="2")
    given = db.put_entry(late, Board.tags, "a", Tag(at=1), newer_by="at", changes={"created": START}).item
    assert (given.created, given.updated) == (START, minutes(1))
    with pytest.raises(sk.ItemMissing, match="a new item does not match"):
        db.put_entry(Board.key(id="3"), Board.tags, "a", Tag(at=1), newer_by="at", where={"created": START})


def test_put_entry_to_a_row_that_is_older_than_the_field_invents_no_creation(db: sk.Session) -> None:
    board = Board.key(id="1")
    db.client.put_item(TableName="stamped-notes", Item={**board.key(), "id": {"S": "1"}})
    made = db.put_entry(board, Board.tags, "a", Tag(at=1), newer_by="at").item
    assert (made.created, made.updated) == (None, START)


# The writer finds no item, another one creates it, and the entry is then written to that.
def test_put_entry_to_an_item_that_another_writer_creates_meanwhile(
    clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sk.connect("memory:", tables=[NOTES], clock=clock) as db:
        db.create_tables()
        send = db._runner._perform
        requests: list[str] = []

        def perform(call: Any, *rest: Any) -> Any:
            requests.append(call.operation)
            if len(requests) == 2:
                db.client.put_item(TableName="stamped-notes", Item={**Board.key(id="1").key(), "id": {"S": "1"}})
            return send(call, *rest)

        monkeypatch.setattr(db._runner, "_perform", perform)
        made = db.put_entry(Board.key(id="1"), Board.tags, "a", Tag(at=1), newer_by="at")
        assert (made.written, made.item.created, made.item.updated) == (True, None, START)
        assert requests == ["UpdateItem"] * 3


def test_a_clock_that_returns_datetimes_is_rejected() -> None:
    clock: Any = types.SimpleNamespace(now=lambda: datetime(2026, 8, 24, tzinfo=UTC))
    session = sk.connect("memory:", tables=[Note], clock=clock)
    with session, pytest.raises(TypeError, match="returned a datetime; it must return seconds since 1970"):
        session.put(Note(owner="ada", id="1"))


def test_the_async_session_has_a_clock_too(clock: ManualClock) -> None:
    async def put() -> Note:
        async with sk.async_connect("memory:", tables=[NOTES], clock=clock) as session:
            await session.create_tables()
            made = note()
            await session.put(made)
            return made

    assert asyncio.run(put()).created == START


@pytest.mark.parametrize(
    ("annotation", "default", "message"),
    [
        (Annotated[datetime, sk.created], None, r"Made.at: a field with sk.created must be a datetime \| None"),
        (Annotated[int | None, sk.updated], None, r"sk.updated must be a datetime \| None, not int"),
        (Annotated[datetime | None, sk.updated], START, "must have the default None"),
    ],
)
def test_other_fields_are_rejected_at_import(annotation: Any, default: Any, message: str) -> None:
    def body(names: dict[str, Any]) -> None:
        names.update(__annotations__={"id": str, "at": annotation}, at=default, key=sk.Key("{id}"))

    with pytest.raises(sk.DeclarationError, match=message):
        types.new_class("Made", (sk.Item,), {"table": "stamped-made"}, body)


# The base class has no stamp, so an update through it learns of the field from the row.
@pytest.mark.parametrize("transaction", [False, True])
def test_an_update_through_the_base_class_sets_the_stamps_of_the_subclass(
    clock: ManualClock, transaction: bool
) -> None:
    table = sk.Table("stamped-papers", transactions=True)

    class Paper(sk.Item, table=table, tag=True):
        id: str
        text: str = ""
        key = sk.Key("PAPER#{id}")

    class Letter(Paper):
        updated: Annotated[datetime | None, sk.updated] = None

    with sk.connect("memory:", tables=[table], clock=clock) as session:
        session.create_tables()
        session.batch(put=[Letter(id="1"), Paper(id="2")])
        clock.advance(60)
        for path in (Paper.key(id="1"), Paper.key(id="2")):
            if transaction:
                change = sk.Transaction()
                change.update(path, {"text": "new"})
                session.transact(change)
            else:
                session.update(path, {"text": "new"})
        assert session.get(Paper.key(id="1")) == Letter(id="1", text="new", updated=minutes(1))
        assert session.get(Paper.key(id="2")) == Paper(id="2", text="new")

"""Several writers of one item with sk.version, in any order: no acknowledged change is lost, and the revision counts
exactly the acknowledged writes since the item was created.

A copy of an item that was deleted meanwhile is dropped here: an item that is created anew counts from 1 again, so such
a copy may have its revision by chance (docs/guides/conditions.md).
"""

from __future__ import annotations

import threading
from typing import Annotated, Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import sortkey as sk

SHELF = sk.Table("revision-shelf", transactions=True)


class Book(sk.Item, table=SHELF):
    """Each write adds a note of its own."""

    id: str
    notes: set[str] = sk.field(default_factory=set)
    shelf: str = ""
    revision: Annotated[int, sk.version] = 0
    longest: Annotated[int, sk.computed("notes", by=lambda notes: max(map(len, notes), default=0))] = 0
    key = sk.Key("B#{id}", "B")
    by_shelf = sk.Index("gsi1", "S#{shelf}", "{id}")


ONE = Book.key(id="1")
WRITERS = st.integers(0, 2)
NOTES = sk.F(Book.notes)


class Writers(RuleBasedStateMachine):
    @initialize(old=st.booleans())
    def begin(self, old: bool) -> None:
        self.db = sk.connect("memory:", tables=[SHELF])
        self.db.create_tables()
        self.copies: dict[int, Book] = {}
        self.number = 0
        self.notes: set[str] | None = None
        """Those of the stored item; None if there is none."""
        self.revision = 0
        if old:
            # A row that is older than the revision.
            self.db.client.put_item(TableName=SHELF.name, Item={"pk": {"S": "B#1"}, "sk": {"S": "B"}, "id": {"S": "1"}})
            self.notes = set()

    def teardown(self) -> None:
        self.db.close()

    def note(self) -> str:
        self.number += 1
        return str(self.number)

    def wrote(self, notes: set[str]) -> None:
        self.notes = notes
        self.revision += 1

    def gone(self) -> None:
        self.notes, self.revision = None, 0
        self.copies = {}

    def is_current(self, copy: Book) -> bool:
        return copy.revision == self.revision

    @rule(writer=WRITERS)
    def read(self, writer: int) -> None:
        found = self.db.get(ONE)
        self.copies[writer] = Book(id="1") if found is None else found

    @rule(writer=WRITERS, way=st.sampled_from(["put", "if_version", "where", "transaction"]))
    def put(self, writer: int, way: str) -> None:
        copy = self.copies.get(writer, Book(id="1"))
        note, before = self.note(), copy.revision
        changed = sk.replace(copy, notes=copy.notes | {note}, shelf=note)
        may = self.is_current(copy)
        try:
            if way == "transaction":
                together = sk.Transaction()
                together.put(changed)
                self.db.transact(together)
            elif way == "where":
                self.db.put(changed, where=~sk.F(Book.shelf).contains("never"))
            else:
                self.db.put(changed, if_version="revision" if way == "if_version" else None)
        except (sk.ConditionFailed, sk.TransactionFailed):
            # A condition on a field is not met by a missing item.
            assert not may or (way == "where" and self.notes is None)
            assert changed.revision == before
        else:
            assert may
            assert copy.notes == (self.notes or set())
            assert changed.revision == before + 1
            self.wrote(copy.notes | {note})
            self.copies[writer] = changed

    @rule(writer=WRITERS)
    def create(self, writer: int) -> None:
        note = self.note()
        made = Book(id="1", notes={note}, revision=writer)
        assert self.db.put(made, if_absent=True) == (self.notes is None)
        if self.notes is None:
            self.wrote({note})
            self.copies[writer] = made

    @rule(way=st.sampled_from(["update", "shelf", "transaction", "upsert"]))
    def update(self, way: str) -> None:
        note = self.note()
        changes: Any = [NOTES.add({note}), {"shelf": note}] if way == "shelf" else NOTES.add({note})
        try:
            if way == "transaction":
                together = sk.Transaction()
                together.update(ONE, changes)
                self.db.transact(together)
            elif way == "upsert":
                assert self.db.upsert(ONE, changes).revision == self.revision + 1
            else:
                assert self.db.update(ONE, changes).revision == self.revision + 1
        except (sk.ItemMissing, sk.TransactionFailed):
            assert self.notes is None
        else:
            self.wrote({*(self.notes or ()), note})

    @rule(writer=WRITERS)
    def update_of_a_copy(self, writer: int) -> None:
        copy, note = self.copies.get(writer, Book(id="1")), self.note()
        try:
            self.db.update(ONE, NOTES.add({note}), where={"revision": copy.revision})
        except sk.ConditionFailed:
            assert self.notes is None or not self.is_current(copy)
        else:
            assert self.notes is not None
            assert self.is_current(copy)
            self.wrote(self.notes | {note})

    @rule(writer=WRITERS, together=st.booleans())
    def delete_of_a_copy(self, writer: int, together: bool) -> None:
        copy = self.copies.get(writer, Book(id="1"))
        where = {"revision": copy.revision}
        try:
            if together:
                actions = sk.Transaction()
                actions.delete(ONE, where=where)
                self.db.transact(actions)
            else:
                self.db.delete(ONE, where=where)
        except (sk.ConditionFailed, sk.TransactionFailed):
            assert self.notes is None or not self.is_current(copy)
        else:
            assert self.notes == copy.notes
            self.gone()

    @rule()
    def delete(self) -> None:
        self.db.delete(ONE)
        self.gone()

    @rule()
    def repair(self) -> None:
        """Another program has removed an index key, and an audit writes it again."""
        if self.notes is not None:
            self.db.client.update_item(
                TableName=SHELF.name,
                Key=ONE.key(),
                UpdateExpression="SET shelf = :s REMOVE gsi1pk",
                ExpressionAttributeValues={":s": {"S": "a"}},
            )
            self.db.audit(SHELF, repair=True)
            self.revision += 1

    @invariant()
    def what_is_stored(self) -> None:
        found = self.db.get(ONE)
        if self.notes is None:
            assert found is None
        else:
            assert found is not None
            assert (found.notes, found.revision) == (self.notes, self.revision)


TestWriters = Writers.TestCase
TestWriters.settings = settings(stateful_step_count=20, deadline=None)


@pytest.mark.slow
def test_threads_that_write_one_item_lose_nothing() -> None:
    written: list[str] = []

    def work(name: str) -> None:
        for number in range(25):
            note = f"{name}{number}"
            while True:
                copy = db.get(ONE)
                assert copy is not None
                try:
                    if number % 5 == 0:
                        db.update(ONE, [NOTES.add({note}), {"shelf": note}])
                    else:
                        db.put(sk.replace(copy, notes=copy.notes | {note}))
                except sk.ConditionFailed:
                    continue
                written.append(note)
                break

    with sk.connect("memory:", tables=[SHELF]) as db:
        db.create_tables()
        db.put(Book(id="1"))
        threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = db.get(ONE)
    assert found is not None
    assert found.notes == set(written)
    assert found.revision == 101
    assert found.longest == 3

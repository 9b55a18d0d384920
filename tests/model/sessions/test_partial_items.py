"""Items from an index that does not project them whole: known as partial, and never written back."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

import sortkey as sk
from sortkey.model.calls.queries import Page, page_window
from sortkey.model.calls.queries import page as read_page
from sortkey.model.calls.steps import ParallelCalls, Steps
from sortkey.model.calls.wanted_items import Parts
from tests.model.sessions.old_rows import put_row
from tests.stores import needs

DOCS = sk.Table("partial-docs")


class Line(sk.Item):
    text: str


class Doc(sk.Item, table=DOCS):
    id: str
    cat: str
    title: str
    body: str | None = None
    words: int = 7
    rank: int = 1
    lines: list[Line] = sk.field(default_factory=list)

    notes = sk.Entries(Line, "note:")
    key = sk.Key("DOC#{id}", "DOC")
    by_cat = sk.Index("gsi1", "CAT#{cat}", "{rank}#{id}", projection="KEYS_ONLY")
    by_title = sk.Index("gsi2", "TITLE#{title}", "{id}", projection=["words", "body"])
    by_rank = sk.Index("gsi3", "RANK#{rank}", "{id}")


class Picture(sk.Item, table=DOCS):
    id: str
    cat: str
    width: int

    key = sk.Key("PICTURE#{id}", "PICTURE")
    by_cat = sk.Index("gsi1", "CAT#{cat}", "PICTURE#{id}", projection="KEYS_ONLY")


class Edition(sk.Item, table=DOCS, version=2):
    id: str
    cat: str
    words: int

    key = sk.Key("EDITION#{id}", "EDITION")
    by_cat = sk.Index("gsi1", "CAT#{cat}", "EDITION#{id}", projection="KEYS_ONLY")
    by_title = sk.Index("gsi2", "EDITIONS", "{id}", projection=["words"])


@Edition.upgrade(1)
def words_were_text(old: dict[str, Any]) -> dict[str, Any]:
    return {**old, "words": int(old["words"])}


def doc(number: str = "1", **fields: Any) -> Doc:
    return Doc(**{"id": number, "cat": "a", "title": "T", "body": "text", **fields})


@pytest.fixture
def docs(db: sk.Session) -> sk.Session:
    needs(db.capabilities, "index_projections")
    db.create_tables(DOCS)
    db.put(Doc.notes.replaced(doc(), {"n": Line(text="note")}))
    return db


def only(items: Any) -> Any:
    (item,) = items
    return item


@pytest.fixture
def part(docs: sk.Session) -> Doc:
    item: Doc = only(docs.iterate(Doc.by_cat(cat="a")))
    return item


def test_fields_that_the_index_lacks_cannot_be_read(part: Doc) -> None:
    assert sk.is_partial(part)
    assert isinstance(part, Doc)
    assert (part.id, part.cat, part.rank) == ("1", "a", 1)
    for name in ("title", "body", "words", "lines", "notes"):
        with pytest.raises(sk.PartialItem, match=r"gsi1 does not have whole items; db\.whole\(items\) reads them"):
            getattr(part, name)
    with pytest.raises(sk.PartialItem, match=r"Doc\.body"):
        _ = part.body
    with pytest.raises(sk.PartialItem):
        sk.extra(part)


def test_pages_have_partial_items_and_cursors(docs: sk.Session) -> None:
    docs.put(doc("2"))
    page = docs.page(Doc.by_cat(cat="a"), first=1)
    assert [each.id for each in page.items] == ["1"]
    page = docs.page(Doc.by_cat(cat="a"), first=1, after=page.end_cursor)
    assert [each.id for each in page.items] == ["2"]
    assert sk.is_partial(page.items[0])


# Projected and absent is the default; not projected is unknown.
def test_an_index_with_some_fields(docs: sk.Session) -> None:
    put_row(
        docs,
        {
            "pk": {"S": "DOC#9"},
            "sk": {"S": "DOC"},
            "cat": {"S": "a"},
            "gsi2pk": {"S": "TITLE#Old"},
            "gsi2sk": {"S": "9"},
            "rank": {"N": "5"},
        },
        "partial-docs",
    )
    found = only(docs.iterate(Doc.by_title(title="Old")))
    assert (found.id, found.title, found.body, found.words) == ("9", "Old", None, 7)
    with pytest.raises(sk.PartialItem, match=r"Doc\.rank"):
        _ = found.rank
    assert only(docs.iterate(Doc.by_title(title="T"))).body == "text"


def test_an_index_with_whole_items_has_whole_items(docs: sk.Session) -> None:
    found = only(docs.iterate(Doc.by_rank(rank=1)))
    assert not sk.is_partial(found)
    assert found == doc()


def test_partial_items_are_not_written(docs: sk.Session, part: Doc) -> None:
    transaction = sk.Transaction()
    for write in (
        lambda: docs.put(part),
        lambda: docs.put(part, if_absent=True),
        lambda: docs.batch(put=[part]),
        lambda: transaction.put(part),
        lambda: sk.replace(part, rank=2),
        lambda: Doc.notes.replaced(part, {}),
    ):
        with pytest.raises(sk.PartialItem, match=r"db\.whole\(items\)"):
            write()
    stored = docs.get(part.key, consistent=True)
    assert stored == doc()
    assert stored.notes == {"n": Line(text="note")}


def test_partial_items_are_changed_and_deleted_by_their_key(docs: sk.Session, part: Doc) -> None:
    assert docs.update(part.key, {"rank": 2}) == doc(rank=2)
    assert docs.count(Doc.by_cat(cat="a", rank=2)) == 1
    assert docs.delete(part.key) == doc(rank=2)


def test_whole_reads_the_rest_in_order(docs: sk.Session) -> None:
    docs.batch(put=[doc(f"{number:03}", rank=number) for number in range(2, 130)])
    docs.put(Picture(id="p", cat="a", width=3))
    parts = list(docs.iterate(sk.collection(Doc.by_cat, cat="a")))
    whole = docs.whole([doc("mine"), *parts, parts[0]])
    assert whole == [
        doc("mine"),
        Picture(id="p", cat="a", width=3),
        doc(),
        *(doc(f"{number:03}", rank=number) for number in range(2, 130)),
        Picture(id="p", cat="a", width=3),
    ]
    first = whole[2]
    assert isinstance(first, Doc)
    assert first.notes == {"n": Line(text="note")}
    assert docs.whole([]) == []


# Between the two reads, another writer may delete an item.
def test_whole_leaves_out_items_that_are_gone(docs: sk.Session, part: Doc) -> None:
    docs.put(doc("2"))
    parts = list(docs.iterate(Doc.by_cat(cat="a")))
    docs.delete(part.key)
    assert docs.whole(parts, consistent=True) == [doc("2")]


def during_second_read(steps: Steps[Page[Any]], meanwhile: Callable[[], object]) -> Steps[Page[Any]]:
    """The same steps; `meanwhile` happens once the index was read, and the items were not."""
    answer = None
    while True:
        try:
            step = steps.send(answer)
        except StopIteration as end:
            page: Page[Any] = end.value
            return page
        if isinstance(step, ParallelCalls):
            meanwhile()
        answer = yield step


# Without a cursor, the next page would be the first one again.
@pytest.mark.parametrize("gone", [["2", "3"], ["2"], ["3"]])
@pytest.mark.parametrize("backward", [False, True])
def test_a_page_whose_items_are_gone_has_cursors(memory: sk.Session, gone: list[str], backward: bool) -> None:
    memory.create_tables(DOCS)
    memory.batch(put=[doc(str(number)) for number in range(6)])
    path = Doc.by_cat(cat="a")
    if backward:
        window = page_window(None, None, 2, memory.page(path, last=2).start_cursor, budget=100)
    else:
        window = page_window(2, memory.page(path, first=2).end_cursor, None, None, budget=100)
    page = memory._run(
        during_second_read(
            read_page(memory._context, path, window, None, False, False, "raise", Parts(whole=True)),
            lambda: memory.batch(delete=[Doc.key(id=each) for each in gone]),
        )
    )
    assert len(page.items) == 2 - len(gone)
    assert (page.has_previous, page.has_next) == (True, True)
    assert [each.id for each in memory.page(path, first=2, after=page.end_cursor)] == ["4", "5"]
    assert [each.id for each in memory.page(path, last=2, before=page.start_cursor)] == ["0", "1"]


class Seat(sk.Item, table="partial-seats"):
    hall: str
    number: int
    rank: int
    text: str = ""

    key = sk.Key("HALL#{hall}", "SEAT#{number:03}")
    by_rank = sk.Index("lsi1", "HALL#{hall}", "RANK#{rank}", local=True, projection="KEYS_ONLY")


# A consistent read takes a whole unit for each item, and another one half of it.
@pytest.mark.parametrize("consistent", [False, True])
def test_whole_items_are_read_as_consistently_as_their_index(memory: sk.Session, consistent: bool) -> None:
    memory.create_tables(Seat)
    memory.put(Seat(hall="a", number=1, rank=2))
    path = Seat.by_rank(hall="a")
    units = [memory.meter.reading("Seat.key").units]
    for read in (memory.page, memory.iterate):
        assert list(read(path, consistent=consistent, whole=True)) == [Seat(hall="a", number=1, rank=2)]
        units.append(memory.meter.reading("Seat.key").units)
    assert units == ([0.0, 1.0, 2.0] if consistent else [0.0, 0.5, 1.0])


def test_where_needs_projected_fields(docs: sk.Session) -> None:
    docs.put(doc("2", words=9))
    for where in ({"body": "text"}, {"cat": "a"}, sk.F(Doc.lines).size <= 1):
        with pytest.raises(sk.NoAccessPath, match="gsi1 does not project"):
            docs.count(Doc.by_cat(cat="a"), where=where)
    assert [each.id for each in docs.iterate(Doc.by_title(title="T"), where={"words": 7})] == ["1"]
    with pytest.raises(sk.NoAccessPath, match="rows of an older version"):
        docs.count(Edition.by_title(), where={"words": 5})


# Which attributes a row of an older version has, the declaration does not say; its keys are in the current form.
def test_rows_of_an_older_version_show_their_keys_only(docs: sk.Session) -> None:
    docs.put(Edition(id="new", cat="e", words=5))
    old = {"id": "old", "words": "6", "pk": "EDITION#old", "sk": "EDITION", "gsi2pk": "EDITIONS", "gsi2sk": "old"}
    put_row(docs, {"cat": {"S": "e"}, **{name: {"S": value} for name, value in old.items()}}, "partial-docs")
    new, older = docs.iterate(Edition.by_title())
    assert (new.id, new.words, older.id) == ("new", 5, "old")
    with pytest.raises(sk.PartialItem):
        _ = older.words
    assert docs.whole([new, older]) == [Edition(id="new", cat="e", words=5), Edition(id="old", cat="e", words=6)]


def test_copies_and_texts_invent_nothing(docs: sk.Session, part: Doc) -> None:
    again = only(docs.iterate(Doc.by_cat(cat="a")))
    assert part == again
    assert part != doc()
    assert repr(part) == ("Doc(id='1', cat='a', title=UNSET, body=UNSET, words=UNSET, rank=1, lines=UNSET)")
    assert msgspec.json.decode(msgspec.json.encode(part)) == {"id": "1", "cat": "a", "rank": 1}
    for copied in (copy.copy(part), copy.deepcopy(part), pickle.loads(pickle.dumps(part))):
        assert copied == part
        assert sk.is_partial(copied)
        with pytest.raises(sk.PartialItem):
            _ = copied.body


def test_a_property_of_fields_that_are_not_there_raises(docs: sk.Session) -> None:
    class Checked(sk.Item, table=DOCS):
        id: str
        cat: str
        low: int
        high: int

        key = sk.Key("CHECKED#{id}", "CHECKED")
        by_cat = sk.Index("gsi1", "CAT#{cat}", "CHECKED#{id}", projection="KEYS_ONLY")

        @property
        def span(self) -> int:
            return self.high - self.low

    docs.put(Checked(id="c", cat="c", low=1, high=3))
    found = only(docs.iterate(Checked.by_cat(cat="c")))
    with pytest.raises(sk.PartialItem):
        _ = found.span
    assert only(docs.whole([found])).span == 2

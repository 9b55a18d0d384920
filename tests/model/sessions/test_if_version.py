"""`if_version` on items without a version: None counts as 0, wherever it comes from."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from msgspec import Meta

import sortkey as sk

VERSIONED = sk.Table("if-version")


class Page(sk.Item, table=VERSIONED):
    name: str
    revision: int | None = None
    text: str = ""
    key = sk.Key("PAGE#{name}")


class Chapter(sk.Item, table=VERSIONED):
    """New chapters have a revision, and it is never 0."""

    name: str
    revision: Annotated[int, Meta(ge=1)] | None = 7
    key = sk.Key("CHAPTER#{name}")


class Line(sk.Item, table=VERSIONED):
    name: str
    revision: int = 0
    key = sk.Key("LINE#{name}")


@pytest.fixture
def versioned(db: sk.Session) -> sk.Session:
    db.create_tables(VERSIONED)
    return db


def put_row(db: sk.Session, key: str, **attributes: Any) -> None:
    row = {"pk": {"S": key}, "name": {"S": "a"}, **attributes}
    db.client.put_item(TableName="if-version", Item=row)


@pytest.mark.parametrize(
    "stored", [{}, {"revision": {"NULL": True}}, {"revision": {"N": "0"}}], ids=["absent", "null", "zero"]
)
def test_a_row_without_a_version_gets_its_first_one(versioned: sk.Session, stored: dict[str, Any]) -> None:
    put_row(versioned, "PAGE#a", **stored)
    mine, theirs = versioned.get(Page.key(name="a")), versioned.get(Page.key(name="a"))
    assert mine is not None
    assert theirs is not None
    assert versioned.put(mine, if_version="revision")
    assert mine.revision == 1
    assert versioned.get(mine.key) == Page(name="a", revision=1)
    with pytest.raises(sk.ConditionFailed, match=r"Page\.revision is 0, but the stored item has 1"):
        versioned.put(theirs, if_version="revision")
    assert versioned.put(mine, if_version="revision")
    assert mine.revision == 2


def test_a_new_item_without_a_version_gets_its_first_one(versioned: sk.Session) -> None:
    made = Page(name="a")
    assert versioned.put(made, if_version="revision")
    assert made.revision == 1
    with pytest.raises(sk.ConditionFailed, match="the stored item has 1"):
        versioned.put(Page(name="a"), if_version="revision")


def test_transactions_take_items_without_a_version(versioned: sk.Session) -> None:
    put_row(versioned, "PAGE#a")
    stored = versioned.get(Page.key(name="a"))
    assert stored is not None
    transaction = sk.Transaction()
    transaction.put(stored, if_version="revision")
    versioned.transact(transaction)
    assert stored.revision == 1
    assert versioned.get(stored.key) == Page(name="a", revision=1)


# An absent attribute shows the default, which is no None.
def test_none_is_not_the_version_of_a_row_that_shows_another(versioned: sk.Session) -> None:
    put_row(versioned, "CHAPTER#a")
    with pytest.raises(sk.ConditionFailed, match="the stored item has 7"):
        versioned.put(Chapter(name="a", revision=None), if_version="revision")
    put_row(versioned, "CHAPTER#a", revision={"NULL": True})
    assert versioned.put(Chapter(name="a", revision=None), if_version="revision")
    assert versioned.get(Chapter.key(name="a")) == Chapter(name="a", revision=1)


def test_a_version_is_a_number(versioned: sk.Session) -> None:
    for wrong in (None, "1", True, -1):
        item = Line(name="a", revision=wrong)  # type: ignore[arg-type]
        with pytest.raises(sk.EncodeError, match=r"Line\.revision: a version is an int from 0 on, not"):
            versioned.put(item, if_version="revision")

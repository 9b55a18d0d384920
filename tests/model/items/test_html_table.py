"""What notebooks show of pages and explanations."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

import sortkey as sk

NOTES = sk.Table("html-notes")


class Note(sk.Item, table=NOTES):
    owner: str
    id: int
    text: str = ""

    key = sk.Key("OWNER#{owner}", "NOTE#{id}")
    by_owner = sk.Index("gsi1", "NOTES#{owner}", "{id}", projection="KEYS_ONLY")


class Owner(sk.Item, table=NOTES):
    owner: str
    city: str
    key = sk.Key("OWNER#{owner}", "OWNER")


@pytest.fixture
def db() -> Iterator[sk.Session]:
    with sk.connect("memory:", tables=[NOTES]) as session:
        session.create_tables()
        session.batch(
            put=[Note(owner="ada", id=1, text="<b>&"), Note(owner="ada", id=2), Owner(owner="ada", city="Rome")]
        )
        yield session


def cells(html: str) -> list[list[str]]:
    return [re.findall(r"<t[hd]>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", html)]


def shown(thing: object) -> str:
    html: str = thing._repr_html_()  # type: ignore[attr-defined]
    return html


def test_a_page_is_a_table_of_its_items(db: sk.Session) -> None:
    html = shown(db.page(Note.key(owner="ada"), first=1))
    assert cells(html) == [["owner", "id", "text"], ["ada", "1", "&lt;b&gt;&amp;"]]
    assert "<caption>Note.key(owner=&#x27;ada&#x27;): 1 items, and more</caption>" in html


def test_items_of_several_classes_say_which(db: sk.Session) -> None:
    html = shown(db.page(sk.collection(Note.key, owner="ada")))
    assert cells(html)[0] == ["", "owner", "id", "text", "city"]
    assert cells(html)[3] == ["Owner", "ada", "", "", "Rome"]


# A look at a page must not raise for what an index does not have.
def test_a_partial_item_has_gaps(db: sk.Session) -> None:
    html = shown(db.page(Note.by_owner(owner="ada")))
    assert cells(html) == [["owner", "id", "text"], ["ada", "1", ""], ["ada", "2", ""]]


def test_a_long_text_is_shortened(db: sk.Session) -> None:
    db.put(Note(owner="bob", id=1, text="x" * 1000))
    assert cells(shown(db.page(Note.key(owner="bob"))))[1][2] == "x" * 199 + "…"


def test_an_empty_page_is_a_table_too(db: sk.Session) -> None:
    assert cells(shown(db.page(Note.key(owner="eve")))) == []


def test_an_explanation_is_a_table_of_its_figures(db: sk.Session) -> None:
    explanation = db.explain(Note.key(owner="ada"), rows=10, row_bytes=100)
    html = shown(explanation)
    assert cells(html)[:2] == [["index", "none: the table itself"], ["rows", "10 of 100 bytes (as given)"]]
    assert "&quot;TableName&quot;: &quot;html-notes&quot;" in html

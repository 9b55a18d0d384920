"""Formats of fields in keys: separators in the last part, one case, and the parts of a time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from typing import Annotated, Any

import pytest

import sortkey as sk

PAGES = sk.Table("format-pages")


class Page(sk.Item, table=PAGES):
    site: str
    path: str
    title: str = ""

    key = sk.Key("SITE#{site}", "PAGE#{path:raw}")
    by_title = sk.Index("gsi1", "TITLE#{title:lower}", "{path:raw}")


class Visit(sk.Item, table="format-visits"):
    person: str
    day: date
    at: time = time(12)
    note: str = ""

    key = sk.Key("PERSON#{person:lower}", "{day:%Y}#{day:%m}#D{day:%d}#{at:%H%M}")
    by_month = sk.Index("gsi1", "VISITS", "{day:%Y}-{day:%m}-{day:%d}")


@pytest.fixture
def db(store: str) -> Iterator[sk.Session]:
    with sk.connect(store, tables=[Page, Visit]) as session:
        session.create_tables()
        yield session


def paths(pages: Any) -> list[str]:
    return [page.path for page in pages]


# Another program wrote a path with a fragment, as it is.
def test_a_separator_in_the_last_part(db: sk.Session) -> None:
    page = Page(site="a", path="docs#keys#raw", title="Keys")
    db.put(page)
    assert page.key.key() == {"pk": {"S": "SITE#a"}, "sk": {"S": "PAGE#docs#keys#raw"}}
    assert db.get(page.key) == page
    assert db.update(page.key, {"title": "More"}).path == "docs#keys#raw"
    assert paths(db.iterate(Page.by_title(title="More"))) == ["docs#keys#raw"]


def test_ranges_over_a_last_part_with_separators(db: sk.Session) -> None:
    db.batch(put=[Page(site="a", path=path) for path in ("a", "a#", "a#b", "a$", "b", "b#a")])
    site = Page.key(site="a")
    assert paths(db.iterate(site)) == ["a", "a#", "a#b", "a$", "b", "b#a"]
    assert paths(db.iterate(site.starting("a#"))) == ["a#", "a#b"]
    assert paths(db.iterate(site.after("a#b"))) == ["a$", "b", "b#a"]
    assert paths(db.iterate(site.before("a$"))) == ["a", "a#", "a#b"]
    assert paths(db.iterate(site.between("a#", "b"))) == ["a#", "a#b", "a$", "b"]


# An item and its parts under one prefix are usual; a row must still say which it is.
def test_no_separator_where_the_key_of_another_class_continues() -> None:
    table = sk.Table("format-orders")

    class Order(sk.Item, table=table):
        id: str

        key = sk.Key("ORDERS", "ORDER#{id:raw}")

    class Line(sk.Item, table=table):
        order: str
        number: int

        key = sk.Key("ORDERS", "ORDER#{order:raw}#LINE#{number:d}")

    with sk.connect("memory:", tables=[table]) as db:
        db.create_tables()
        items = [Order(id="New York $"), Line(order="New York $", number=1)]
        db.batch(put=items)
        assert list(db.iterate(sk.collection(Order.key))) == items
        with pytest.raises(sk.KeyPartError, match=r"'a#LINE#1' contains .* #, with which the key of another class"):
            db.put(Order(id="a#LINE#1"))


def test_classes_that_a_last_part_with_separators_runs_into_are_told_apart_otherwise() -> None:
    table = sk.Table("format-both")

    class One(sk.Item, table=table):
        id: str

        key = sk.Key("ONE#{id:raw}")

    with pytest.raises(sk.DeclarationError, match="could have the same key"):

        class Two(sk.Item, table=table):
            id: str

            key = sk.Key("ONE#{id:raw}")


# The item keeps the case of the value; the index finds it by any.
def test_one_case_in_an_index(db: sk.Session) -> None:
    db.put(Page(site="a", path="1", title="Über Ada"))
    db.put(Page(site="a", path="2", title="über ADA"))
    found = list(db.iterate(Page.by_title(title="ÜBER ada")))
    assert [page.title for page in found] == ["Über Ada", "über ADA"]
    only = db.iterate(Page.by_title(title="ÜBER ada"), where={"title": "über ADA"})
    assert paths(only) == ["2"]
    db.update(Page.key(site="a", path="1"), {"title": "Else"})
    assert paths(db.iterate(Page.by_title(title="über ada"))) == ["2"]
    with pytest.raises(sk.NoAccessPath, match="keys do not sort by person"):
        Sorted.key(room="a").after("b")


class Sorted(sk.Item, table="format-sorted"):
    room: str
    person: str

    key = sk.Key("ROOM#{room}", "{person:upper}")


# A primary key says which item it is, so it rejects what it would not give back.
def test_one_case_in_a_primary_key(db: sk.Session) -> None:
    visit = Visit(person="ada", day=date(2026, 3, 5))
    db.put(visit)
    assert db.get(Visit.key(person="ada", day=date(2026, 3, 5), at=time(12))) == visit
    with pytest.raises(sk.KeyPartError, match="person: 'Ada' would come back as 'ada'"):
        db.put(Visit(person="Ada", day=date(2026, 3, 5)))


def test_the_parts_of_a_date(db: sk.Session) -> None:
    days = [date(2025, 12, 31), date(2026, 3, 5), date(2026, 3, 6), date(2026, 11, 1)]
    db.batch(put=[Visit(person="ada", day=day) for day in days])
    visit = Visit(person="ada", day=days[1])
    assert visit.key.key()["sk"] == {"S": "2026#03#D05#1200"}
    assert db.get(visit.key) == visit
    ada = Visit.key(person="ada")
    assert [each.day for each in db.iterate(ada)] == days
    assert [each.day for each in db.iterate(ada.between(date(2026, 1, 1), date(2026, 3, 31)))] == days[1:3]
    assert [each.day for each in db.iterate(ada.after(days[2]))] == days[3:]
    assert [each.day for each in db.iterate(Visit.by_month().before(days[1]))] == days[:1]
    with pytest.raises(sk.KeyPartError, match="has parts that the format '%H%M' does not write"):
        db.put(Visit(person="ada", day=days[0], at=time(12, 0, 1)))


# All parts of a day are one field: the next field continues the prefix, and a month is a range.
def test_access_by_the_parts_of_a_date(db: sk.Session) -> None:
    days = [date(2026, 2, 28), date(2026, 3, 5), date(2026, 4, 1)]
    db.batch(put=[Visit(person="ada", day=day, at=time(hour)) for day in days for hour in (8, 12)])
    of_day = Visit.key(person="ada", day=days[1])
    assert [visit.at for visit in db.iterate(of_day)] == [time(8), time(12)]
    assert [visit.at for visit in db.iterate(of_day.after(time(8)))] == [time(12)]
    assert '"S": "2026#03#D05#"' in str(db.explain(of_day))
    march = Visit.by_month().between(date(2026, 3, 1), date(2026, 3, 31))
    assert [(visit.day, visit.at) for visit in db.iterate(march)] == [(days[1], time(8)), (days[1], time(12))]
    ada = Visit.key(person="ada")
    with pytest.raises(sk.KeyPartError, match="day: starting needs a string; use between"):
        ada.starting("2026#03")
    with pytest.raises(sk.KeyPartError, match="day: expected date, got str '2026'"):
        ada.after("2026")
    with pytest.raises(sk.NoAccessPath, match="cannot be queried by person, at: key needs day"):
        Visit.key(person="ada", at=time(8))


def test_the_parts_of_a_date_in_a_partition_key() -> None:
    class Entry(sk.Item, table="format-entries"):
        day: date
        number: int

        key = sk.Key("DAY#{day:%Y}#{day:%m}#{day:%d}", "{number:03}")

    with sk.connect("memory:", tables=[Entry]) as db:
        db.create_tables()
        entries = [Entry(day=date(2026, 3, 5), number=number) for number in (1, 2)]
        db.batch(put=[*entries, Entry(day=date(2026, 3, 6), number=1)])
        assert list(db.iterate(Entry.key(day=date(2026, 3, 5)))) == entries
        assert list(db.iterate(Entry.key(day=date(2026, 3, 5)).after(1))) == entries[1:]


# Nothing else has the value.
def test_parts_in_a_key_that_alone_has_the_field() -> None:
    class Reading(sk.Item, table="format-readings"):
        sensor: Annotated[str, sk.in_key]
        at: Annotated[datetime, sk.in_key]

        key = sk.Key("SENSOR#{sensor}", "{at:%Y-%m-%d}#{at:%H:%M}")

    with sk.connect("memory:", tables=[Reading]) as db:
        db.create_tables()
        reading = Reading(sensor="a", at=datetime(2026, 3, 5, 12, 30, tzinfo=UTC))
        db.put(reading)
        assert db.get(reading.key) == reading
        assert list(db.iterate(Reading.key(sensor="a"))) == [reading]


@pytest.mark.parametrize(
    ("template", "error"),
    [
        ("{day:%Y}#{day:%m}", "must have %Y, %m and %d"),
        ("{day:%Y}#{day:%m}#{day:%d}#{day:%Y}", "has a part of the time twice"),
        ("{day:%Y}#{id}#{day:%m%d}", "the parts of day must follow each other"),
        ("{day}#{day:%Y}", "contains day twice; only parts of a time can"),
        ("{id:raw}#{id:lower}", "contains id twice; only parts of a time can"),
        ("{number:%Y}#{number:%m}", "only a datetime, a date or a time can be there in parts"),
        ("{at:%M}", "must have %H"),
        ("{at:%H}#{at:%Y}", "must have %H, and only"),
    ],
)
def test_parts_that_are_not_the_value(template: str, error: str) -> None:
    with pytest.raises(sk.DeclarationError, match=error):

        class Refused(sk.Item, table="format-refused"):
            id: str
            day: date
            at: time
            number: int

            key = sk.Key("X", template)


# Keys of two classes: a part of a date is four digits, a segment of its own.
def test_parts_do_not_collide_with_texts_of_another_form() -> None:
    table = sk.Table("format-apart")

    class Daily(sk.Item, table=table):
        day: date

        key = sk.Key("X", "{day:%Y}#{day:%m}#{day:%d}")

    class Named(sk.Item, table=table):
        name: str

        key = sk.Key("X", "NAME#{name}#END")

    with pytest.raises(sk.DeclarationError, match="could have the same key"):

        class Loose(sk.Item, table=table):
            a: str
            b: str
            c: str

            key = sk.Key("X", "{a}#{b}#{c}")

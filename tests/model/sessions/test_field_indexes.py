"""Indexes declared by fields, on stores whose index keys have several attributes and on stores where they have one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from hashlib import blake2b
from pathlib import Path
from typing import cast

import pytest

import sortkey as sk
from sortkey.model.items.item import schema_of
from sortkey.model.items.partial_item import whole_class
from tests.model.sessions.conftest import Awaited
from tests.model.sessions.tickets import START, TICKETS, Note, Status, Ticket, at, connect_joined, ids, ticket

SYNTHETIC = {"by_statuspk", "by_statussk", "by_ownerpk", "by_ownersk", "by_teampk", "by_teamsk"}


@pytest.fixture(
    params=[
        "memory sync",
        "memory async",
        "memory joined",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("disk sync", "endpoint sync", "endpoint async", "endpoint joined")
        ),
        *(pytest.param(name, marks=pytest.mark.oracle) for name in ("local sync", "local async")),
    ]
)
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[sk.Session]:
    """An open session on each store; and on ours as if they lacked keys of several attributes."""
    place, kind = request.param.split()
    url = _url(request, place, tmp_path)
    if kind == "async":
        with asyncio.Runner() as runner:
            awaited = Awaited(runner.run(_opened(url)), runner)
            awaited.create_tables()
            yield cast(sk.Session, awaited)
            awaited.close()
    else:
        joined = kind == "joined"
        # An endpoint can be called what it is not; a store in the process is told by hand.
        in_process = joined and place == "memory"
        named = f"{url}&store=dynamodb-local" if joined else url
        with connect_joined(TICKETS) if in_process else sk.connect(named, tables=[TICKETS]) as session:
            session.create_tables()
            yield session


def _url(request: pytest.FixtureRequest, place: str, folder: Path) -> str:
    if place == "memory":
        return "memory:"
    if place == "disk":
        return f"file:{folder / 'data'}"
    endpoint = request.getfixturevalue("our_endpoint" if place == "endpoint" else "dynamodb_local")
    return f"{endpoint}?prefix=t{blake2b(request.node.nodeid.encode(), digest_size=8).hexdigest()}-"


async def _opened(url: str) -> sk.AsyncSession:
    return await sk.async_connect(url, tables=[TICKETS])


def has_multi_attribute_keys(desk: sk.Session) -> bool:
    return desk.capabilities.multi_attribute_index_keys


@pytest.fixture
def tickets(desk: sk.Session) -> sk.Session:
    """Ids in the order of the index: by priority as a number, then by time."""
    for number, priority, minutes in ((1, -5, 9), (2, 2, 1), (3, 2, 2), (4, 2, 2), (5, 10, 0)):
        desk.put(ticket(number, priority=priority, created=at(minutes)))
    desk.put(ticket(6, tenant="acm", status=Status.OPEN))
    desk.put(ticket(7, status=Status.DONE))
    return desk


OPEN = {"tenant": "acme", "status": Status.OPEN}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (Ticket.by_status(**OPEN), ["t1", "t2", "t3", "t4", "t5"]),
        (Ticket.by_status(**OPEN, priority=2), ["t2", "t3", "t4"]),
        (Ticket.by_status(**OPEN, priority=2, created=at(2)), ["t3", "t4"]),
        (Ticket.by_status(**OPEN, priority=2, created=at(2), id="t4"), ["t4"]),
        (Ticket.by_status(**OPEN).after(2), ["t5"]),
        (Ticket.by_status(**OPEN).before(2), ["t1"]),
        (Ticket.by_status(**OPEN).between(-5, 2), ["t1", "t2", "t3", "t4"]),
        (Ticket.by_status(**OPEN, priority=2).after(at(1)), ["t3", "t4"]),
        (Ticket.by_status(**OPEN, priority=2).between(at(0), at(1)), ["t2"]),
        (Ticket.by_status(**OPEN, priority=2, created=at(2)).before("t4"), ["t3"]),
        (Ticket.by_status(**OPEN, priority=2, created=at(2)).starting("t"), ["t3", "t4"]),
        (Ticket.by_status(tenant="acme", status=Status.DONE), ["t7"]),
        (Ticket.by_status(tenant="ac", status=Status.DONE), []),
    ],
    ids=repr,
)
def test_paths(tickets: sk.Session, path: sk.AccessPath[Ticket], found: list[str]) -> None:
    assert ids(tickets.iterate(path)) == found
    assert ids(tickets.iterate(path, descending=True)) == found[::-1]
    assert tickets.count(path) == len(found)


def test_pages(tickets: sk.Session) -> None:
    path = Ticket.by_status(**OPEN)
    page = tickets.page(path, first=2)
    seen = ids(page.items)
    while page.has_next:
        page = tickets.page(path, first=2, after=page.end_cursor)
        seen += ids(page.items)
    assert seen == ["t1", "t2", "t3", "t4", "t5"]
    back = tickets.page(path, last=2, before=page.start_cursor)
    assert ids(back.items) == ["t3", "t4"]
    with pytest.raises(sk.CursorError, match="another query"):
        tickets.page(Ticket.by_status(tenant="acm", status=Status.OPEN), after=page.end_cursor)


def test_an_item_that_lacks_a_field_is_not_in_the_index(desk: sk.Session) -> None:
    whole = ticket(1, owner="ada", cost=Decimal("1.5"))
    desk.batch(put=[whole, ticket(2, owner="ada"), ticket(3, cost=Decimal(1))])
    assert ids(desk.iterate(Ticket.by_owner(owner="ada"))) == ["t1"]
    desk.update(whole.key, {"cost": None})
    assert ids(desk.iterate(Ticket.by_owner(owner="ada"))) == []
    desk.update(ticket(2).key, {"cost": Decimal(10)})
    assert ids(desk.iterate(Ticket.by_owner(owner="ada").after(Decimal(9)))) == ["t2"]


def test_updates_move_items(tickets: sk.Session) -> None:
    tickets.update(ticket(1).key, [sk.F(Ticket.priority).add(7), sk.F(Ticket.visits).add(1)])
    assert ids(tickets.iterate(Ticket.by_status(**OPEN, priority=2))) == ["t2", "t3", "t4", "t1"]
    tickets.update(ticket(1).key, {"status": Status.DONE, "created": at(1)})
    assert ids(tickets.iterate(Ticket.by_status(tenant="acme", status=Status.DONE))) == ["t7", "t1"]


# The store derives the keys, so even an operator needs no read.
def test_multi_attribute_keys_are_not_computed(tickets: sk.Session) -> None:
    before = tickets.meter.reading("update Ticket").calls
    tickets.update(ticket(1).key, [sk.F(Ticket.priority).add(1)])
    assert tickets.meter.reading("update Ticket").calls - before == (1 if has_multi_attribute_keys(tickets) else 2)
    (row,) = (row for row in tickets.client.scan(TableName="tickets")["Items"] if row["id"] == {"S": "t1"})
    assert bool(SYNTHETIC & row.keys()) is not has_multi_attribute_keys(tickets)


def test_transactions(tickets: sk.Session) -> None:
    sale = sk.Transaction()
    sale.put(ticket(8, priority=3), if_absent=True)
    sale.update(ticket(1).key, [sk.F(Ticket.priority).add(20)])
    sale.delete(ticket(2).key)
    sale.check(ticket(3).key, where={"priority": 2})
    tickets.transact(sale)
    assert ids(tickets.iterate(Ticket.by_status(**OPEN))) == ["t3", "t4", "t8", "t5", "t1"]


# Items of a KEYS_ONLY index are partial, and belong to their class.
def test_classes_share_an_index(desk: sk.Session) -> None:
    notes = [Note(note=f"n{number}", tenant="acme", team="b", seal=bytes([number])) for number in (3, 1, 2)]
    desk.batch(put=[*notes, ticket(1, team="b", seal=b"\x01\x02")])
    assert [each.note for each in desk.iterate(Note.by_team(tenant="acme", team="b"))] == ["n1", "n2", "n3"]
    assert [each.note for each in desk.iterate(Note.by_team(tenant="acme", team="b").starting(b"\x02"))] == ["n2"]
    shared = list(desk.iterate(sk.collection(Note.by_team, tenant="acme")))
    assert [whole_class(each) for each in shared] == [Note, Ticket, Note, Note]
    assert all(map(sk.is_partial, shared))
    assert desk.whole(shared) == [notes[1], ticket(1, team="b", seal=b"\x01\x02"), notes[2], notes[0]]


def test_a_filter_on_a_key_attribute_is_rejected(tickets: sk.Session) -> None:
    with pytest.raises(sk.NoAccessPath, match="created is an attribute of the key"):
        list(tickets.iterate(Ticket.by_status(**OPEN), where=sk.F(Ticket.created) > START))
    assert ids(tickets.iterate(Ticket.by_status(**OPEN), where=sk.F(Ticket.visits) > 0)) == []


@pytest.mark.parametrize("field", ["tenant", "team"])
def test_no_store_takes_an_empty_key(desk: sk.Session, field: str) -> None:
    with pytest.raises(sk.KeyPartError, match=f"{field}: the key attribute would be empty"):
        desk.put(ticket(1, **{field: ""}))
    desk.put(ticket(1))
    with pytest.raises(sk.KeyPartError, match=f"{field}: the key attribute would be empty"):
        desk.update(ticket(1).key, {field: ""})


def test_explain_shows_either_form(desk: sk.Session) -> None:
    request = desk.explain(Ticket.by_status(**OPEN, priority=2).after(START)).request
    if has_multi_attribute_keys(desk):
        assert request["KeyConditionExpression"] == "#key1 = :key1 AND #key2 = :key2 AND #key3 = :key3 AND #sk > :sk"
        names = {"#key1": "tenant", "#key2": "status", "#key3": "priority", "#sk": "created"}
        assert request["ExpressionAttributeNames"] == names
        assert request["ExpressionAttributeValues"][":key3"] == {"N": "2"}
    else:
        assert request["KeyConditionExpression"] == "#pk = :pk AND #sk BETWEEN :low AND :high"
        assert request["ExpressionAttributeNames"] == {"#pk": "by_statuspk", "#sk": "by_statussk"}
        assert request["ExpressionAttributeValues"][":pk"] == {"S": "acme#open"}


def test_tables_are_as_the_store_has_them(desk: sk.Session) -> None:
    assert desk.diff_tables() == []
    described = desk.client.describe_table(TableName="tickets")["Table"]["GlobalSecondaryIndexes"]
    (schema,) = (index["KeySchema"] for index in described if index["IndexName"] == "by_status")
    names = [element["AttributeName"] for element in schema]
    expected = ["tenant", "status", "priority", "created", "id"]
    assert names == (expected if has_multi_attribute_keys(desk) else ["by_statuspk", "by_statussk"])


# A table may have been created before its store had multi-attribute keys. That is an error; a declaration by templates
# matches the table and still works.
@pytest.mark.slow
def test_a_table_from_before(our_endpoint: str) -> None:
    class Plain(sk.Item, table=sk.Table("plain")):
        id: str
        tenant: str
        day: date
        key = sk.Key("PLAIN#{id}")
        by_day = sk.Index("by_day", ("tenant", "day"), ("id",))

    class Templated(sk.Item, table=sk.Table("plain")):
        id: str
        tenant: str
        day: date
        key = sk.Key("PLAIN#{id}")
        by_day = sk.Index("by_day", "{tenant}#{day}", "{id}")

    url, day = f"{our_endpoint}?prefix=before-", date(2026, 8, 24)
    with sk.connect(f"{url}&store=dynamodb-local", tables=[Plain]) as before:
        before.create_tables()
        before.put(Plain(id="1", tenant="#", day=day))
    made_elsewhere = pytest.raises(sk.TablesDiffer, match="the form for another store")
    with sk.connect(url, tables=[Plain]) as db, made_elsewhere:
        db.create_tables()
    with sk.connect(url, tables=[Templated]) as db:
        assert db.diff_tables() == []
        assert [each.id for each in db.iterate(Templated.by_day(tenant="#", day=day))] == ["1"]


# Key attributes that a row has from such a store are not attributes of the item: they are neither kept nor upgraded.
def test_rows_may_move_from_store_to_store() -> None:
    item = ticket(1, priority=3)
    with connect_joined(TICKETS) as joined, sk.connect("memory:", tables=[TICKETS]) as multi:
        multi.create_tables()
        joined.put(item)
        (row,) = joined.client.scan(TableName="tickets")["Items"]
        multi.client.put_item(TableName="tickets", Item=row)
        (found,) = multi.iterate(Ticket.by_status(**OPEN))
        assert (found, sk.extra(found)) == (item, {})
        multi.put(sk.replace(found, created=found.created + timedelta(minutes=1)))
        (row,) = multi.client.scan(TableName="tickets")["Items"]
        assert not SYNTHETIC & row.keys()
        assert row == schema_of(Ticket).encode(sk.replace(found, created=at(1)))

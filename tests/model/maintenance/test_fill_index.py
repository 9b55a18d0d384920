"""`db.fill_index`: an index that is younger than the rows of its table."""

from __future__ import annotations

from typing import Any

import pytest

import sortkey as sk
from sortkey.model.audit.table_audit import AuditProgress
from tests.model.sessions.old_rows import put_row

pytestmark = pytest.mark.usefixtures("brief_polls")

TABLE = "fill-visits"


class Before:
    """The program as it was, without the index."""

    table = sk.Table(TABLE)

    class Visit(sk.Item, table=table):
        guest: str
        number: int
        day: str
        room: str | None = None

        key = sk.Key("GUEST#{guest}", "VISIT#{number:06}")
        by_room = sk.Index("gsi1", "ROOM#{room}", "{number:06}")


class After:
    """The program as it is."""

    table = sk.Table(TABLE)

    class Visit(sk.Item, table=table):
        guest: str
        number: int
        day: str
        room: str | None = None

        key = sk.Key("GUEST#{guest}", "VISIT#{number:06}")
        by_room = sk.Index("gsi1", "ROOM#{room}", "{number:06}")
        by_day = sk.Index("gsi2", "DAY#{day}", "{room}#{guest}#{number:06}")

    class Guest(sk.Item, table=table):
        guest: str
        since: str

        key = sk.Key("GUEST#{guest}", "GUEST")
        by_day = sk.Index("gsi2", "DAY#{since}", "GUEST#{guest}")


class Other:
    """Another idea of the same index, and a local index."""

    table = sk.Table(TABLE)

    class Visit(sk.Item, table=table):
        guest: str
        number: int
        day: str

        key = sk.Key("GUEST#{guest}", "VISIT#{number:06}")
        by_room = sk.Index("gsi1", "DAY#{day}", names=("day1pk",))
        by_day = sk.Index("lsi1", "GUEST#{guest}", "{day}", local=True)


def visit(number: int, **fields: Any) -> Before.Visit:
    return Before.Visit(
        **{"guest": f"g{number % 7}", "number": number, "day": f"d{number % 5}", "room": "12", **fields}
    )


@pytest.fixture
def hotel(db: sk.Session) -> sk.Session:
    db.create_tables(Before.table)
    db.batch(put=[visit(number, room=None if number % 10 == 0 else "12") for number in range(60)])
    put_row(db, {"pk": {"S": "GUEST#g1"}, "sk": {"S": "GUEST"}, "since": {"S": "d1"}, "shoe": {"N": "38"}}, TABLE)
    put_row(db, {"pk": {"S": "GUEST#g1"}, "sk": {"S": "VISIT#7"}}, TABLE)
    return db


def days(db: sk.Session) -> dict[str, list[int]]:
    return {
        day: sorted(each.number for each in db.iterate(After.Visit.by_day(day=day)))
        for day in (f"d{number}" for number in range(5))
    }


EXPECTED = {f"d{day}": [number for number in range(60) if number % 5 == day and number % 10] for day in range(5)}


def test_a_new_index_is_created_and_filled(hotel: sk.Session) -> None:
    before = {row["sk"]["S"] + row["pk"]["S"]: row for row in hotel.scan_rows(After.table, consistent=True)}
    report = hotel.fill_index(After.Visit.by_day)
    assert hotel.diff_tables(After.table) == []
    assert days(hotel) == EXPECTED
    # The class that shares the index, and nothing else of its row.
    assert [each.guest for each in hotel.iterate(After.Guest.by_day(since="d1"))] == ["g1"]
    assert (report.rows, sum(each.repaired for each in report.findings)) == (62, 55)
    assert (report.read_units > 0) is hotel.capabilities.consumed_capacity
    assert (report.write_units >= 55) is hotel.capabilities.consumed_capacity
    for row in hotel.scan_rows(After.table, consistent=True):
        old = before[row["sk"]["S"] + row["pk"]["S"]]
        assert {name: value for name, value in row.items() if not name.startswith("gsi2")} == old


def test_a_full_index_costs_no_writes(hotel: sk.Session) -> None:
    hotel.fill_index(After.Visit.by_day)
    again = hotel.fill_index(After.Visit.by_day)
    assert again.write_units == 0
    assert [(each.kind.value, each.rows) for each in again.findings] == [("unrecognised", 1)]


# A key that another program changed half, and one that it left behind.
def test_stale_keys_are_rewritten(hotel: sk.Session) -> None:
    hotel.fill_index(After.Visit.by_day)
    for number, change in ((1, "SET #d = :x"), (2, "REMOVE gsi2pk")):
        members: dict[str, Any] = {"ExpressionAttributeNames": {"#d": "day"}}
        members["ExpressionAttributeValues"] = {":x": {"S": "d9"}}
        hotel.client.update_item(
            TableName=TABLE, Key=visit(number).key.key(), UpdateExpression=change, **(members if number == 1 else {})
        )
    hotel.fill_index(After.Visit.by_day)
    assert [each.number for each in hotel.iterate(After.Visit.by_day(day="d9"))] == [1]
    assert days(hotel) == {**EXPECTED, "d1": [number for number in EXPECTED["d1"] if number != 1]}


def test_other_indexes_are_left_alone(hotel: sk.Session) -> None:
    key = visit(1).key.key()
    hotel.client.update_item(TableName=TABLE, Key=key, UpdateExpression="REMOVE gsi1pk")
    hotel.fill_index(After.Visit.by_day)
    assert "gsi1pk" not in hotel.client.get_item(TableName=TABLE, Key=key, ConsistentRead=True)["Item"]


class Stopped(Exception):
    pass


@pytest.mark.slow
def test_it_continues_from_a_cursor(memory: sk.Session) -> None:
    memory.create_tables(Before.table)
    for start in range(0, 1500, 500):
        memory.batch(put=[visit(number) for number in range(start, start + 500)])
    seen: list[AuditProgress] = []

    def stop(progress: AuditProgress) -> None:
        seen.append(progress)
        if progress.report.rows > 700:
            raise Stopped

    with pytest.raises(Stopped):
        memory.fill_index(After.Visit.by_day, segments=2, progress=stop)
    first = seen[-1].report.rows
    rest = memory.fill_index(After.Visit.by_day, segments=2, after=seen[-1].cursor)
    assert first + rest.rows == 1500
    assert sum(map(len, days(memory).values())) == 1500


# Between the read of a row and its repair, another writer changes what the key is made of.
def test_it_is_safe_beside_live_writers(memory: sk.Session) -> None:
    memory.create_tables(Before.table)
    memory.batch(put=[visit(number) for number in range(100)])
    send = memory._runner._send
    changed: set[str] = set()

    def interfere(call: Any) -> Any:
        if call.path == f"repair {TABLE}" and repr(call.members["Key"]) not in changed:
            changed.add(repr(call.members["Key"]))
            number = int(call.members["Key"]["sk"]["S"][6:])
            old = Before.Visit.key(guest=f"g{number % 7}", number=number)
            if number % 3 == 0:
                memory.delete(old)
            elif number % 3 == 1:
                memory.update(old, {"day": "d4"})
        return send(call)

    memory._runner._send = interfere  # type: ignore[method-assign]
    report = memory.fill_index(After.Visit.by_day)
    assert len(changed) == 100
    assert (report.deleted, report.changed) == (34, sum(number % 3 == 1 and number % 5 != 4 for number in range(100)))
    left = [number for number in range(100) if number % 3]
    assert days(memory) == {
        f"d{day}": [number for number in left if day == (4 if number % 3 == 1 else number % 5)] for day in range(5)
    }


def test_what_cannot_be_filled(memory: sk.Session) -> None:
    with pytest.raises(sk.TablesDiffer, match="table fill-visits does not exist; create_tables"):
        memory.fill_index(After.Visit.by_day)
    memory.create_tables(Before.table)
    with pytest.raises(sk.TablesDiffer, match="index gsi1 has gsi1pk"):
        memory.fill_index(Other.Visit.by_room)
    with pytest.raises(sk.Unsupported, match=r"Visit\.by_day is a local index"):
        memory.fill_index(Other.Visit.by_day)
    with pytest.raises(TypeError, match=r"Visit\.key is the primary key"):
        memory.fill_index(After.Visit.key)
    with pytest.raises(TypeError, match="expected a key"):
        memory.fill_index(After.Visit.by_day(day="d1"))  # type: ignore[arg-type]

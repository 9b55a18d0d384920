"""`db.scan`, `db.scan_rows` and `db.explain_scan`: whole tables, with their price."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import pytest
from botocore.exceptions import ClientError

import sortkey as sk
from sortkey.client.stores import ALTERNATOR
from sortkey.model.calls.steps import Pacing
from tests.model.sessions.old_rows import put_row
from tests.model.sessions.shop import SHOP, Customer, Order, Parcel, numbers, order
from tests.stores import needs

BINS = sk.Table("scan-bins")
PAPERS = sk.Table("scan-papers")
SCORES = sk.Table("scan-scores")


class Bin(sk.Item, table=BINS):
    id: bytes
    size: int = 1

    key = sk.Key("{id}", names=("id",))


class Paper(sk.Item, table=PAPERS):
    id: str
    topic: str
    text: str

    key = sk.Key("PAPER#{id}")
    by_topic = sk.Index("gsi1", "TOPIC#{topic}", "{id}", projection="KEYS_ONLY")


class Score(sk.Item, table=SCORES, version=2):
    player: str
    points: int
    level: str = "new"

    key = sk.Key("{player}", "{points}", names=("player", "points"))


@Score.upgrade(1)
def points_had_no_level(old: dict[str, Any]) -> dict[str, Any]:
    return {**old, "level": "old"}


def fill(db: sk.Session, orders: int = 30) -> None:
    db.batch(
        put=[
            *(order(number, status="DONE" if number % 3 == 0 else "OPEN") for number in range(orders)),
            *(Order(customer=f"c{number}", number=number) for number in range(orders)),
            *(Customer(customer=f"c{number}") for number in range(10)),
            Parcel(parcel="p", status="OPEN"),
        ]
    )


def put_foreign(db: sk.Session, partition: str, sort: str, **attributes: Any) -> None:
    put_row(db, {"pk": {"S": partition}, "sk": {"S": sort}, **attributes}, "shop")


def test_all_items_of_a_class(db: sk.Session) -> None:
    assert list(db.scan(Order)) == []
    fill(db)
    found = list(db.scan(Order))
    assert sorted(numbers(found)) == sorted([*range(30)] * 2)
    assert all(type(each) is Order for each in found)
    assert [each.parcel for each in db.scan(Parcel, consistent=True)] == ["p"]


def test_all_items_of_a_table(db: sk.Session) -> None:
    fill(db)
    counts = dict.fromkeys((Order, Customer, Parcel), 0)
    for item in db.scan(SHOP):
        counts[type(item)] += 1
    assert counts == {Order: 60, Customer: 10, Parcel: 1}


@pytest.mark.parametrize("segments", [1, 4, 20])
def test_segments_together_are_the_table(db: sk.Session, segments: int) -> None:
    fill(db)
    assert len(list(db.scan(SHOP, segments=segments))) == 71
    assert {each.customer for each in db.scan(Customer, segments=segments)} == {f"c{number}" for number in range(10)}


# A request returns at most 1 MB.
@pytest.mark.parametrize("segments", [1, 3])
def test_tables_of_several_pages(db: sk.Session, segments: int) -> None:
    for start in range(0, 40, 5):
        db.batch(
            put=[
                Order(customer=f"c{number}", number=number, notes=["x" * 60_000]) for number in range(start, start + 5)
            ]
        )
    scan = db.scan(Order, segments=segments)
    found = list(islice(scan, 13))
    rest = db.scan(Order, after=scan.cursor)
    assert sorted(numbers(found + list(rest))) == list(range(40))
    assert (scan.units + rest.units > 40 * 60_000 / 4096 / 2) is db.capabilities.consumed_capacity
    assert db.meter.reading("scan Order").calls > 2
    assert db.delete_all(Order, scan=True, segments=segments).items == 40


def test_filters(db: sk.Session) -> None:
    fill(db)
    assert sorted(numbers(list(db.scan(Order, where={"status": "DONE"})))) == list(range(0, 30, 3))
    some = (sk.F(Order.customer) == "c7") | ((sk.F(Order.number) > 28) & (sk.F(Order.status) == "OPEN"))
    assert sorted(numbers(list(db.scan(Order, where=some)))) == [7, 29, 29]
    with pytest.raises(sk.UnknownField, match="status"):
        db.scan(Order, where={"state": "DONE"})


# The store cannot judge a row of an older version, nor a field that only the key has.
def test_filters_see_what_items_show(db: sk.Session) -> None:
    db.create_tables(SCORES)
    db.put(Score(player="ada", points=1, level="new"))
    put_row(db, {"player": {"S": "bob"}, "points": {"N": "2"}}, "scan-scores")
    assert [each.player for each in db.scan(Score, where={"level": "old"})] == ["bob"]
    assert [each.player for each in db.scan(Score, where={"level": "new"})] == ["ada"]
    put_foreign(db, "CUSTOMER#eve", "ORDER#000001")
    assert [each.customer for each in db.scan(Order, where={"customer": "eve"})] == ["eve"]


# A sparse index has few of the table's rows, so a scan of it is cheap.
def test_an_index(db: sk.Session) -> None:
    db.batch(
        put=[
            *(order(number, city="Rome" if number % 10 == 0 else None) for number in range(60)),
            Customer(customer="c"),
        ]
    )
    db.batch(put=[Parcel(parcel=f"p{number}", status="OPEN") for number in range(5)])
    scan = db.scan(Order.by_city)
    found = list(islice(scan, 2))
    rest = db.scan(Order.by_city, after=scan.cursor)
    assert sorted(numbers(found + list(rest))) == list(range(0, 60, 10))
    assert scan.rows_read <= 6
    assert db.explain_scan(Order.by_city).rows == 6
    assert len(list(db.scan(Order.by_status, segments=3))) == 60
    assert sorted(numbers(list(db.scan(Order.by_city, where=sk.F(Order.number) > 20)))) == [30, 40, 50]
    assert len(list(db.scan(Parcel.by_status))) == 5
    with pytest.raises(sk.CursorError, match=r"a scan of shop: Order\.by_city, not of shop: Order$"):
        db.scan(Order, after=scan.cursor)
    with pytest.raises(ValueError, match="has no consistent reads"):
        db.scan(Order.by_city, consistent=True)


def test_an_index_without_whole_items(db: sk.Session) -> None:
    db.create_tables(PAPERS)
    db.batch(put=[Paper(id=str(number), topic="a", text="t") for number in range(7)])
    scan = db.scan(Paper.by_topic)
    found = [*islice(scan, 3), *db.scan(Paper.by_topic, after=scan.cursor)]
    assert all(sk.is_partial(each) for each in found)
    assert sorted(each.text for each in db.whole(found)) == ["t"] * 7
    with pytest.raises(sk.NoAccessPath, match="does not have whole items, so a scan of it takes no where"):
        db.scan(Paper.by_topic, where={"text": "t"})


# The cursor is a text, and another process may go on from it: nothing twice, nothing left out.
@pytest.mark.parametrize("segments", [1, 3])
@pytest.mark.parametrize("stop", [0, 1, 17, 71])
def test_a_scan_continues_from_its_cursor(db: sk.Session, segments: int, stop: int) -> None:
    fill(db)
    scan = db.scan(SHOP, segments=segments)
    found = list(islice(scan, stop))
    rest = list(db.scan(SHOP, after=scan.cursor))
    assert len(found) == stop
    assert sorted(map(repr, found + rest)) == sorted(map(repr, db.scan(SHOP)))
    done = db.scan(SHOP, after=scan.cursor)
    list(done)
    assert list(db.scan(SHOP, after=done.cursor)) == []


def test_iterating_again_continues(db: sk.Session) -> None:
    fill(db)
    scan = db.scan(Order, segments=2)
    found = list(islice(scan, 25))
    assert sorted(numbers(found + list(scan))) == sorted([*range(30)] * 2)
    assert list(scan) == []


def test_the_cursor_is_after_the_last_item_that_was_handed_out(memory: sk.Session) -> None:
    fill(memory)
    scan = memory.scan(Order)
    for item in scan:
        if item.number == 7:
            break
    assert item not in list(memory.scan(Order, after=scan.cursor))


def test_binary_and_number_keys_in_cursors(db: sk.Session) -> None:
    db.create_tables(BINS, SCORES)
    db.batch(put=[Bin(id=bytes([number, 255])) for number in range(8)])
    db.batch(put=[Score(player="ada", points=number) for number in range(8)])
    for cls in (Bin, Score):
        scan = db.scan(cls)
        found = [*islice(scan, 3), *db.scan(cls, after=scan.cursor)]
        assert len({repr(each) for each in found}) == len(found) == 8


def test_cursors_of_other_scans(memory: sk.Session) -> None:
    cursor = memory.scan(Order, segments=3).cursor
    assert list(memory.scan(Order, segments=3, after=cursor)) == []
    with pytest.raises(sk.CursorError, match="a scan of shop: Order, not of shop: Parcel"):
        memory.scan(Parcel, after=cursor)
    with pytest.raises(sk.CursorError, match="with 3 segments, not with 2"):
        memory.scan(Order, segments=2, after=cursor)


@pytest.mark.parametrize(
    "cursor",
    [
        *("", "x", "3", "[]", "{}", '{"scanned": "shop: Order", "positions": []}'),
        '{"scanned": "shop: Order", "positions": [{"pk": {"S": "a"}}]}',
        '{"scanned": "shop: Order", "positions": [{"pk": {"S": "a"}, "sk": "b"}]}',
        '{"scanned": "shop: Order", "positions": [{"pk": {"B": "a"}, "sk": {"S": "b"}}]}',
        '{"scanned": "shop: Order", "positions": [7]}',
    ],
)
def test_texts_that_are_no_cursors(memory: sk.Session, cursor: str) -> None:
    with pytest.raises(sk.CursorError, match="invalid cursor"):
        memory.scan(Order, after=cursor)


# `ORDER#3` begins as the class's keys do; `INVOICE#1` is nobody's, and only a scan of the table meets it.
def test_rows_that_no_class_reads_are_counted(db: sk.Session, caplog: pytest.LogCaptureFixture) -> None:
    fill(db)
    put_foreign(db, "CUSTOMER#ada", "ORDER#3")
    put_foreign(db, "INVOICE#1", "INVOICE")
    with caplog.at_level(logging.WARNING):
        assert len(list(db.scan(Order))) == 60
        assert len(list(db.scan(SHOP))) == 71
    assert db.meter.reading("scan Order").rows_unrecognised == 1
    assert db.meter.reading("scan shop").rows_unrecognised == 2
    assert "which no class recognises" in caplog.text
    rows = list(db.scan_rows(SHOP))
    assert len(rows) == 73
    assert {"pk": {"S": "INVOICE#1"}, "sk": {"S": "INVOICE"}} in rows


def test_rows_that_cannot_be_decoded(db: sk.Session) -> None:
    fill(db)
    put_foreign(db, "CUSTOMER#ada", "ORDER#000003", total={"S": "much"})
    for scanned in (Order, SHOP):
        with pytest.raises(sk.DecodeError, match=r"CUSTOMER#ada.*undecodable='skip'"):
            list(db.scan(scanned))
    assert len(list(db.scan(Order, undecodable="skip"))) == 59
    assert len(list(db.scan(SHOP, undecodable="skip"))) == 70
    assert db.meter.reading("scan shop").rows_undecodable == 1


def test_rows_are_in_boto3_shape(db: sk.Session) -> None:
    db.create_tables(BINS)
    db.put(Bin(id=b"\x00\xff"))
    scan = db.scan_rows(Bin)
    assert list(scan) == [{"id": {"B": b"\x00\xff"}, "size": {"N": "1"}}]
    assert list(db.scan_rows(BINS, after=scan.cursor)) == []


def test_what_it_costs(db: sk.Session) -> None:
    needs(db.capabilities, "consumed_capacity")
    fill(db)
    text = str(db.explain_scan(Order, where={"status": "DONE"}))
    assert "rows      71, together" in text
    assert "FilterExpression" in text
    before = db.explain_scan(SHOP, consistent=True)
    assert before.units == 2 * db.explain_scan(SHOP).units > 0
    scan = db.scan(Order, consistent=True)
    list(scan)
    # A scan pays for the rows that it drops.
    assert scan.rows_read == 71
    assert scan.units == before.units
    reading = db.meter.reading("scan Order")
    assert (reading.rows_read, reading.rows_returned, reading.units) == (71, 60, scan.units)


# A clock that only pauses move: the pauses are what the units stand for.
@pytest.mark.parametrize("segments", [1, 4])
def test_the_rate_limits_read_units(segments: int) -> None:
    time = [0.0]
    with sk.connect("memory:", tables=[SHOP], pacing=Pacing(monotonic=lambda: time[0])) as db:
        db.create_tables()
        fill(db, orders=200)
        db._runner.sleep = lambda seconds: time.__setitem__(0, time[0] + seconds)
        scan = db.scan(Order, rate=2, segments=segments)
        for _ in scan:
            # Requests are small enough: a second's units, and what their rounding adds.
            assert scan.units <= 2 * time[0] + 2 + segments / 2
        assert scan.rows_read == 411
        assert time[0] >= (scan.units - 2 - segments / 2) / 2


def test_pauses_do_not_count_against_the_timeout(memory: sk.Session) -> None:
    memory.batch(put=[order(number, notes=["x" * 3000]) for number in range(20)])
    paused: list[float] = []
    hasty = memory.within(0.5)
    hasty._runner.sleep = paused.append
    assert len(list(hasty.scan(Order, rate=0.1))) == 20
    assert max(paused) > 0.5


def failing(session: sk.Session, code: str, after: int) -> None:
    """Lets one request of a session fail, after some others."""
    send, left = session._runner._send, [after]

    def first_fails(call: Any) -> Any:
        left[0] -= 1
        if left[0] == -1:
            raise ClientError({"Error": {"Code": code, "Message": "not now"}}, call.operation)
        return send(call)

    session._runner._send = first_fails  # type: ignore[method-assign]


def test_throttled_segments_are_read_again(memory: sk.Session) -> None:
    fill(memory)
    failing(memory, "ProvisionedThroughputExceededException", after=2)
    assert len(list(memory.scan(SHOP, segments=4))) == 71


# What was handed out is not handed out again.
def test_a_scan_goes_on_after_an_error(memory: sk.Session) -> None:
    for start in range(0, 40, 5):
        memory.batch(put=[order(number, notes=["x" * 60_000]) for number in range(start, start + 5)])
    failing(memory, "InternalServerError", after=1)
    scan = memory.scan(Order)
    found: list[Order] = []
    with pytest.raises(ClientError):
        found.extend(scan)
    assert 0 < len(found) < 40
    assert sorted(numbers([*found, *memory.scan(Order, after=scan.cursor)])) == list(range(40))
    assert sorted(numbers([*found, *scan])) == list(range(40))


def test_a_rate_needs_a_store_that_counts_units(memory: sk.Session) -> None:
    memory._runner.context = replace(memory._context, capabilities=ALTERNATOR)
    with pytest.raises(
        sk.Unsupported, match="rate= needs consumed capacity, which ScyllaDB Alternator does not report"
    ):
        memory.scan(Order, rate=5)


def test_wrong_arguments(memory: sk.Session) -> None:
    for scanned in ("shop", Order.key, Order.key(customer="ada"), order(1)):
        with pytest.raises(TypeError, match="expected a class, an index or a table"):
            memory.scan(scanned)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected a table"):
        memory.scan_rows("shop")  # type: ignore[arg-type]
    with pytest.raises(sk.NoAccessPath, match="several classes"):
        memory.scan(SHOP, where={"status": "DONE"})  # type: ignore[call-overload]
    with pytest.raises(sk.DeclarationError, match="has no classes"):
        memory.scan(sk.Table("scan-nothing"))
    for segments in (0, -1, 1_000_001):
        with pytest.raises(ValueError, match="segments must be from 1 to 1,000,000"):
            memory.scan(Order, segments=segments)
    for rate in (0, -1):
        with pytest.raises(ValueError, match="rate must be more than 0"):
            memory.scan(Order, rate=rate)
    with pytest.raises(ValueError, match="undecodable must be"):
        memory.scan(Order, undecodable="give")  # type: ignore[call-overload]


def test_it_says_what_it_is(memory: sk.Session) -> None:
    memory.put(Customer(customer="ada", expires=datetime(2030, 1, 1, tzinfo=UTC)))
    scan = memory.scan(Customer)
    list(scan)
    assert repr(scan) == "<scan of shop: Customer: 1 rows read, 0.5 read units>"

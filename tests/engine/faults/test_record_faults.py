"""Records delivered twice and late: at least once, in order, without gaps."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError

import sortkey as sk
from sortkey.client import Client
from tests.engine.faults.conftest import OpenFaulty
from tests.engine.faults.orders import put
from tests.engine.faults.streams import STREAMED, pages_of, shards_of

RECORDS = 40


def read(client: Client, limit: int) -> list[list[int]]:
    """The pages of a stream of forty records."""
    client.create_table(**STREAMED)
    for number in range(RECORDS):
        put(client, number)
    (shard,) = shards_of(client)
    return pages_of(client, shard["ShardId"], RECORDS, limit)


def check_delivery(pages: list[list[int]]) -> None:
    """Each page is in order without gaps, and the pages leave no gap between them."""
    seen = 0
    for page in pages:
        assert page == [*range(page[0], page[0] + len(page))] if page else True
        assert not page or not seen or page[0] <= seen + 1
        seen = max([seen, *page])
    assert len({sequence for page in pages for sequence in page}) == RECORDS


def test_records_come_again_before_new_ones(open_faulty: OpenFaulty) -> None:
    pages = read(open_faulty("duplicate_records=1"), limit=5)
    check_delivery(pages)
    assert sum(map(len, pages)) > RECORDS
    # Each page goes on, so that a reader comes to the end.
    assert [max(page) for page in pages] == sorted({max(page) for page in pages})


def test_newest_records_come_late(open_faulty: OpenFaulty) -> None:
    pages = read(open_faulty("late_records=0.8"), limit=10)
    check_delivery(pages)
    assert sum(map(len, pages)) == RECORDS
    # Four pages would do.
    assert len(pages) > 4


def test_both_together(open_faulty: OpenFaulty) -> None:
    check_delivery(read(open_faulty("late_records=0.5,duplicate_records=0.5"), limit=4))


# A page has one record at least, so an answer without any is made in another way.
def test_all_records_can_be_late() -> None:
    with sk.client("memory:", faults=sk.testing.Faults(late_records=0.9)) as client:
        pages = read(client, limit=1)
    check_delivery(pages)
    assert [] in pages


def test_a_page_of_one_record_has_no_room_for_another() -> None:
    with sk.client("memory:", faults=sk.testing.Faults(duplicate_records=1)) as client:
        pages = read(client, limit=1)
    assert sum(map(len, pages)) == RECORDS


def test_errors_of_iterators_are_those_of_any_store() -> None:
    faults = sk.testing.Faults(duplicate_records=1)
    with sk.client("memory:", faults=faults) as client, pytest.raises(ClientError, match="Invalid ShardIterator"):
        client.get_records(ShardIterator="nonsense")


def test_late_for_ever_is_rejected() -> None:
    with pytest.raises(ValueError, match="late_records must be below 1, or the newest records would never be"):
        sk.testing.Faults(late_records=1)

"""Marks, lists, counts and top lists, on every store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

import sortkey as sk
from sortkey.services.pages import page_arguments
from sortkey_services.favourites.model import Favourite
from tests.sortkey_services.favourites.conftest import NOON, Service

pytestmark = pytest.mark.every_store


def favourites_of(service: Service, user: str) -> list[str]:
    page = service.wait(service.favourites.favourites_of(user, page_arguments()))
    return [each.restaurant for each in page]


def test_marking_makes_a_favourite(service: Service) -> None:
    assert service.wait(service.favourites.since("ada", "r1")) is None
    assert service.wait(service.favourites.mark("ada", "r1")) == NOON
    assert service.wait(service.favourites.since("ada", "r1")) == NOON


def test_marking_twice_is_one_favourite_and_keeps_its_since(service: Service) -> None:
    service.mark(("ada", "r1"))
    service.clock.advance(3600)
    assert service.wait(service.favourites.mark("ada", "r1")) == NOON
    service.count()
    assert service.counted("r1") == 1


def test_unmarking_ends_it_also_if_there_was_none(service: Service) -> None:
    service.mark(("ada", "r1"))
    service.unmark("ada", "r1")
    service.unmark("ada", "r1")
    assert service.wait(service.favourites.since("ada", "r1")) is None
    service.count()
    assert service.counted("r1") == 0


def test_lists_in_both_directions_are_newest_first(service: Service) -> None:
    for user, restaurant in (("ada", "r1"), ("bob", "r1"), ("ada", "r3"), ("ada", "r2")):
        service.mark((user, restaurant))
        service.clock.advance(1)
    assert favourites_of(service, "ada") == ["r2", "r3", "r1"]
    fans = service.wait(service.favourites.fans_of("r1", page_arguments()))
    assert [each.user for each in fans] == ["bob", "ada"]
    assert favourites_of(service, "nobody") == []


@pytest.mark.parametrize("text", ["a#b", "#", "ü/ß", "日本", "%23", " ", "x" * 256])
def test_ids_may_have_any_characters(service: Service, text: str) -> None:
    service.mark((text, text))
    assert favourites_of(service, text) == [text]
    service.count()
    assert service.counted(text) == 1
    assert service.top() == [(text, 1)]


@pytest.mark.parametrize("user", ["", "x" * 257, "ü" * 129])
def test_an_id_that_no_key_can_hold_is_rejected(service: Service, user: str) -> None:
    with pytest.raises(sk.services.BadRequest, match="user: must have 1 to 256 bytes"):
        service.mark((user, "r1"))


def test_a_favourite_counts_in_the_windows_of_its_since(service: Service) -> None:
    service.mark(("ada", "r1"))
    service.clock.advance(timedelta(days=1).total_seconds())
    service.mark(("bob", "r1"))
    service.clock.advance(timedelta(days=30).total_seconds())
    service.mark(("eve", "r1"))
    service.count()
    windows = {"ALL_TIME": 3, "2026": 3, "2026-08": 2, "2026-08-24": 1, "2026-08-25": 1, "2026-09": 1, "2025": 0}
    assert {window: service.counted("r1", window) for window in windows} == windows


def test_unmarking_takes_it_out_of_the_same_windows(service: Service) -> None:
    service.mark(("ada", "r1"), ("bob", "r1"))
    service.count()
    service.clock.advance(timedelta(days=40).total_seconds())
    service.unmark("ada", "r1")
    service.count()
    windows = {"ALL_TIME": 1, "2026": 1, "2026-08": 1, "2026-08-24": 1, "2026-10": 0}
    assert {window: service.counted("r1", window) for window in windows} == windows


def test_a_count_tells_when_it_was_updated(service: Service) -> None:
    before = datetime.now(UTC) - timedelta(minutes=1)
    service.mark(("ada", "r1"))
    service.count()
    updated = service.wait(service.favourites.count("r1", "ALL_TIME")).updated
    assert updated is not None
    assert updated > before
    assert service.wait(service.favourites.count("r2", "ALL_TIME")).updated is None


def test_the_top_list_is_by_count_downward_and_ties_by_id(service: Service) -> None:
    service.mark(("ada", "r9"), ("bob", "r9"), ("ada", "r2"), ("ada", "r1"), ("ada", "r3"), ("ada", "r0"))
    service.unmark("ada", "r0")
    service.count()
    assert service.top() == [("r9", 2), ("r1", 1), ("r2", 1), ("r3", 1)]
    assert service.top(limit=2) == [("r9", 2), ("r1", 1)]
    assert service.top(limit=1) == [("r9", 2)]
    assert service.top("2026-08", limit=3) == [("r9", 2), ("r1", 1), ("r2", 1)]
    assert service.top("2025") == []


def test_ties_at_the_end_of_a_long_top_list_are_those_with_the_least_ids(service: Service) -> None:
    restaurants = [f"r{number:03}" for number in range(60)]
    service.mark(*(("ada", restaurant) for restaurant in reversed(restaurants)), ("bob", "r059"))
    service.count()
    assert service.top(limit=20) == [("r059", 2), *((restaurant, 1) for restaurant in restaurants[:19])]


def test_marks_that_others_wrote_are_counted(service: Service) -> None:
    service.wait(service.session.put(Favourite(user="ada", restaurant="r1", since=datetime(2025, 1, 2, tzinfo=UTC))))
    service.count()
    assert service.counted("r1", "2025-01-02") == 1

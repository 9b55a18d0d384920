"""Mutuals: by the shorter list, the same answer by both plans, pages in both directions, on every store."""

from __future__ import annotations

from datetime import timedelta
from unittest.mock import patch

import pytest

import sortkey as sk
from sortkey.services.pages import PageAnswer, PageArguments, page_arguments
from sortkey_services.social import follows
from sortkey_services.social.follows import Followed, Plan
from sortkey_services.social.model import Follow, FollowCounts
from tests.sortkey_services.social.conftest import NOON, Service

OTHERS = [f"u{number}" for number in range(8)]


def friends(service: Service) -> None:
    """Ada follows u0 to u5, and u3 to u7 follow her: three are mutual."""
    service.users("ada", *OTHERS)
    service.follow(*(("ada", other) for other in OTHERS[:6]))
    service.clock.advance(3600)
    service.follow(*((other, "ada") for other in OTHERS[3:]))


def choose(service: Service, plan: Plan) -> None:
    """Stores counts by which the plan is the cheaper one."""
    counts = FollowCounts(user="ada", following=0, followers=9)
    if plan == "followers":
        counts = FollowCounts(user="ada", following=9, followers=0)
    service.wait(service.session.put(counts))


def page(service: Service, asked: PageArguments) -> PageAnswer[Followed]:
    return service.wait(service.social.mutuals.page("ada", asked))


def names(found: PageAnswer[Followed]) -> list[str]:
    return [each.user for each in found.items]


@pytest.mark.parametrize("plan", ["following", "followers"])
def test_both_plans_give_the_same_mutuals_by_id(service: Service, plan: Plan) -> None:
    friends(service)
    choose(service, plan)
    found = page(service, page_arguments())
    assert names(found) == ["u3", "u4", "u5"]
    assert {each.since for each in found.items} == {NOON + timedelta(hours=1)}
    assert (found.page_info.has_next_page, found.page_info.has_previous_page) == (False, False)


@pytest.mark.parametrize("plan", ["following", "followers"])
def test_pages_go_forward_and_backward_even_if_the_counts_change_between(service: Service, plan: Plan) -> None:
    friends(service)
    choose(service, plan)
    first = page(service, page_arguments(first=2))
    assert (names(first), first.page_info.has_next_page) == (["u3", "u4"], True)
    choose(service, "followers" if plan == "following" else "following")
    second = page(service, page_arguments(first=2, after=first.page_info.end_cursor))
    assert (names(second), second.page_info.has_next_page, second.page_info.has_previous_page) == (["u5"], False, True)
    back = page(service, page_arguments(last=1, before=second.page_info.start_cursor))
    assert (names(back), back.page_info.has_previous_page, back.page_info.has_next_page) == (["u4"], True, True)
    assert names(page(service, page_arguments(last=2))) == ["u4", "u5"]


def test_the_counts_choose_the_plan_and_explain_tells_it(service: Service) -> None:
    friends(service)
    service.count()
    plans = service.wait(service.social.mutuals.explain("ada"))
    chosen, other = plans.chosen, plans.other
    assert (chosen.plan, chosen.edges, other.plan, other.edges) == ("followers", 5, "following", 6)
    assert chosen.units < other.units
    assert "Follow.followers(followed='ada')" in chosen.path
    before = service.session.meter.reading(Follow.followers).rows_read
    assert names(page(service, page_arguments())) == ["u3", "u4", "u5"]
    assert service.session.meter.reading(Follow.followers).rows_read == before + 5


# Somebody with a million followers, none of whom is followed back, must not make one request read them all.
def test_a_page_reads_only_so_many_edges_and_its_cursor_goes_on(service: Service) -> None:
    friends(service)
    with patch.multiple(follows, MAX_EDGES=2, LEAST_EDGES=1):
        pages = [page(service, page_arguments(first=2))]
        while pages[-1].page_info.has_next_page:
            pages.append(page(service, page_arguments(first=2, after=pages[-1].page_info.end_cursor)))
    assert [names(each) for each in pages] == [[], ["u3"], ["u4", "u5"]]


def test_a_cursor_of_another_list_is_rejected(service: Service) -> None:
    friends(service)
    following = service.wait(service.social.follows.following("ada", page_arguments(first=1))).end_cursor
    with pytest.raises(sk.CursorError, match="does not belong to a list of mutuals"):
        page(service, page_arguments(after=following))
    own = page(service, page_arguments(first=1)).page_info.end_cursor
    assert own is not None
    for wrong in (own.replace("following", "followers"), own[:-2] + "xx"):
        with pytest.raises(sk.CursorError):
            page(service, page_arguments(after=wrong))
    with pytest.raises(sk.services.NotFound, match="'nobody'"):
        service.wait(service.social.mutuals.page("nobody", page_arguments()))

"""Rows that another program has written, and that the service cannot read."""

from __future__ import annotations

from typing import Any

import pytest

import sortkey as sk
from sortkey.services.pages import page_arguments
from sortkey_services.social.model import Follow, FollowCounts, PinBoard, User
from tests.sortkey_services.social.conftest import Service

pytestmark = pytest.mark.parametrize("store", ["memory"], indirect=True)


def spoil(service: Service, path: sk.AccessPath[Any], attribute: str, value: dict[str, Any]) -> None:
    """Give an attribute of a stored item a type that its class does not have."""
    service.wait(
        service.session.client.update_item(
            TableName=path.table,
            Key=path.key(),
            UpdateExpression="SET #attribute = :value",
            ExpressionAttributeNames={"#attribute": attribute},
            ExpressionAttributeValues={":value": value},
        )
    )


@pytest.fixture
def spoilt(service: Service) -> Service:
    """Ada and bob follow each other, and ada and cleo; bob's edges cannot be read."""
    service.users("ada", "bob", "cleo")
    service.follow(("ada", "bob"), ("bob", "ada"), ("ada", "cleo"), ("cleo", "ada"))
    for user, other in (("ada", "bob"), ("bob", "ada")):
        spoil(service, Follow.key(user=user, followed=other), "since", {"L": []})
    return service


def test_lists_leave_the_row_out(spoilt: Service) -> None:
    social, page = spoilt.social, page_arguments()
    assert [each.followed for each in spoilt.wait(social.follows.following("ada", page))] == ["cleo"]
    assert [each.user for each in spoilt.wait(social.follows.followers("ada", page))] == ["cleo"]
    assert [each.user for each in spoilt.wait(social.mutuals.page("ada", page)).items] == ["cleo"]
    spoil(spoilt, User.key(user="bob"), "name", {"L": []})
    found = spoilt.wait(social.users.in_city("London", page))
    assert [each.user for each in found.items] == ["ada", "cleo"]
    spoil(spoilt, FollowCounts.key(user="ada"), "following", {"S": "many"})
    found = spoilt.wait(social.users.in_city("London", page))
    assert [(each.user, each.following) for each in found.items] == [("ada", 0), ("cleo", 0)]


# The list that is read is all right, but not the edge back.
def test_an_edge_back_that_cannot_be_read_is_no_mutual(service: Service) -> None:
    service.users("ada", "bob", "cleo")
    service.follow(("ada", "bob"), ("bob", "ada"), ("ada", "cleo"), ("cleo", "ada"))
    spoil(service, Follow.key(user="bob", followed="ada"), "since", {"L": []})
    found = service.wait(service.social.mutuals.page("ada", page_arguments()))
    assert [each.user for each in found.items] == ["cleo"]


def test_the_row_itself_is_a_conflict_and_can_be_deleted(spoilt: Service) -> None:
    follows = spoilt.social.follows
    for ask in (follows.follow, follows.since):
        with pytest.raises(sk.services.Conflict, match="this follow cannot be read") as raised:
            spoilt.wait(ask("ada", "bob"))
        assert raised.value.code == "unreadable"
    spoilt.unfollow("ada", "bob")
    assert spoilt.wait(follows.since("ada", "bob")) is None


def test_a_profile_is_not_written_if_its_answer_cannot_be_made(service: Service) -> None:
    service.users("ada")
    spoil(service, FollowCounts.key(user="ada"), "following", {"S": "many"})
    with pytest.raises(sk.services.Conflict, match="the counts of 'ada' cannot be read"):
        service.users("ada", city="Paris")
    assert service.wait(service.session.get(User.key(user="ada"))) == User(user="ada", name="Ada", city="London")


def test_a_profile_that_cannot_be_read_is_replaced(service: Service) -> None:
    service.users("ada")
    spoil(service, User.key(user="ada"), "name", {"L": []})
    with pytest.raises(sk.services.Conflict, match="the user 'ada' cannot be read"):
        service.wait(service.social.users.get("ada"))
    service.users("ada")
    assert service.wait(service.social.users.get("ada")).name == "Ada"


def test_pins_that_are_no_set_are_a_conflict(service: Service) -> None:
    service.users("ada")
    spoil(service, PinBoard.key(user="ada"), "pins", {"L": []})
    pins = service.social.pins
    for ask in (pins.of("ada"), pins.pin("ada", "p1"), pins.unpin("ada", "p1")):
        with pytest.raises(sk.services.Conflict, match="the pin board of 'ada' cannot be read"):
            service.wait(ask)

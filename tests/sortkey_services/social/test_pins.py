"""Pins: a hundred at most, with true answers, on every store."""

from __future__ import annotations

import asyncio

import pytest

import sortkey as sk
from sortkey_services.social.users import MAX_PINS, PinAnswer
from tests.sortkey_services.social.conftest import Service


@pytest.mark.slow
def test_of_more_than_a_hundred_at_once_a_hundred_are_pinned(service: Service) -> None:
    service.users("ada")
    posts = [f"post{number:03}" for number in range(MAX_PINS + 15)]

    async def pin_all() -> list[PinAnswer | BaseException]:
        return await asyncio.gather(*(service.social.pins.pin("ada", post) for post in posts), return_exceptions=True)

    answers = service.wait(pin_all())
    sizes = sorted(each.size for each in answers if isinstance(each, PinAnswer))
    assert sizes == list(range(1, MAX_PINS + 1))
    rejected = [each for each in answers if not isinstance(each, PinAnswer)]
    assert {(type(each), str(each)) for each in rejected} == {
        (sk.services.Conflict, "there are 100 pins, and no more than 100; remove one first")
    }
    pinned = [post for post, answer in zip(posts, answers, strict=True) if isinstance(answer, PinAnswer)]
    assert service.wait(service.social.pins.of("ada")) == pinned


def test_pins_are_removed_and_survive_a_changed_profile(service: Service) -> None:
    service.users("ada")
    pins = service.social.pins
    assert service.wait(pins.pin("ada", "p1")) == PinAnswer("added", 1)
    assert service.wait(pins.pin("ada", "p1")) == PinAnswer("present", 1)
    service.users("ada", city="Paris")
    assert service.wait(pins.of("ada")) == ["p1"]
    assert service.wait(pins.unpin("ada", "p2")) == PinAnswer("absent", 1)
    assert service.wait(pins.unpin("ada", "p1")) == PinAnswer("removed", 0)
    assert service.wait(pins.of("ada")) == []


# A pin must not make half a user.
def test_the_pins_of_a_user_who_does_not_exist(service: Service) -> None:
    pins = service.social.pins
    for call in (pins.pin("nobody", "p1"), pins.unpin("nobody", "p1"), pins.of("nobody")):
        with pytest.raises(sk.services.NotFound, match="there is no user 'nobody'"):
            service.wait(call)

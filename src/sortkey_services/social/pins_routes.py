"""The routes of pins."""

from __future__ import annotations

from typing import Literal

import msgspec
from litestar import delete, get, put
from litestar.params import FromPath
from litestar.types import ControllerRouterHandler

import sortkey as sk
from sortkey_services.social.pins import Pins


class PinAnswer(msgspec.Struct, frozen=True):
    outcome: Literal["added", "present", "full", "removed", "absent"]
    size: int
    """How many pins there are now."""


class PinsAnswer(msgspec.Struct, frozen=True):
    pins: list[str]


def routes(pins: Pins) -> list[ControllerRouterHandler]:
    @put("/social/users/{user:str}/pins/{post:str}", opt={"fast": True}, summary="Pin a post")
    async def pin(user: FromPath[str], post: FromPath[str]) -> PinAnswer:
        """The 101st is answered with 409 and the code `full`."""
        return _shown(await pins.pin(user, post))

    @delete("/social/users/{user:str}/pins/{post:str}", status_code=200, opt={"fast": True}, summary="Unpin a post")
    async def unpin(user: FromPath[str], post: FromPath[str]) -> PinAnswer:
        return _shown(await pins.unpin(user, post))

    @get("/social/users/{user:str}/pins", opt={"fast": True}, summary="All pins of a user")
    async def show(user: FromPath[str]) -> PinsAnswer:
        return PinsAnswer(await pins.of(user))

    return [pin, unpin, show]


def _shown(answer: sk.patterns.Bounded) -> PinAnswer:
    return PinAnswer(answer.outcome, answer.size)

"""Pins: up to a hundred posts of a user, in one set. Each change is one conditional write, with a true answer."""

from __future__ import annotations

from typing import Final

import sortkey as sk
from sortkey_services.social.checks import check_id
from sortkey_services.social.model import PinBoard
from sortkey_services.social.reading import must_be_readable
from sortkey_services.social.users import no_user

MAX_PINS: Final = 100

PINNED: Final = sk.patterns.bounded(PinBoard, "pins", limit=MAX_PINS)


class Pins:
    def __init__(self, session: sk.AsyncSession) -> None:
        self._session = session

    async def pin(self, user: str, post: str) -> sk.patterns.Bounded:
        """Raises NotFound, and Conflict if there is no room for another one."""
        path = _path(user, post)
        try:
            with must_be_readable(f"the pin board of {user!r}"):
                answer = await PINNED.add(self._session, path, post)
        except sk.ItemMissing:
            raise no_user(user) from None
        if answer.outcome == "full":
            raise sk.services.Conflict(
                f"there are {answer.size} pins, and no more than {MAX_PINS}; remove one first", "full"
            )
        return answer

    async def unpin(self, user: str, post: str) -> sk.patterns.Bounded:
        """Raises NotFound."""
        path = _path(user, post)
        try:
            with must_be_readable(f"the pin board of {user!r}"):
                return await PINNED.remove(self._session, path, post)
        except sk.ItemMissing:
            raise no_user(user) from None

    async def of(self, user: str) -> list[str]:
        """In the order of their ids. Raises NotFound."""
        check_id("user", user)
        with must_be_readable(f"the pin board of {user!r}"):
            board = await self._session.get(PinBoard.key(user=user), consistent=True)
        if board is None:
            raise no_user(user)
        return sorted(board.pins)


def _path(user: str, post: str) -> sk.AccessPath[PinBoard]:
    check_id("user", user)
    check_id("post", post)
    return PinBoard.key(user=user)

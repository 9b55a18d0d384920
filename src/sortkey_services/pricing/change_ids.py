"""The numbers of changes, and the ids by which callers name them.

A number orders changes as they were asked for: microseconds since 1970, each higher than all before it in this process,
then random digits of the process. An id has the whole key of the change's row, so that one GetItem finds it.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from random import Random
from typing import Final, NamedTuple

import msgspec

import sortkey as sk
from sortkey_services.pricing.checks import check_id
from sortkey_services.pricing.instants import instant_of
from sortkey_services.pricing.model import ChangeRow

_NUMBER: Final = re.compile("[0-9a-f]{22}")


class ChangeNumbers:
    def __init__(self, draw: Random) -> None:
        self._last = 0
        self._process = f"{draw.getrandbits(32):08x}"

    def take(self, now: int, count: int) -> Callable[[int], str]:
        """So many numbers, each by its index."""
        first = max(now, self._last + 1)
        self._last = first + count - 1
        return lambda index: f"{first + index:014x}{self._process}"


class ChangeId(NamedTuple):
    """The key of a change's row."""

    store: str
    at: int
    number: str

    @property
    def text(self) -> str:
        return urlsafe_b64encode(msgspec.json.encode(self)).rstrip(b"=").decode()

    @property
    def path(self) -> sk.AccessPath[ChangeRow]:
        return ChangeRow.key(store=self.store, effective_at=instant_of(self.at), number=self.number)


def change_id(text: str) -> ChangeId:
    """Raises NotFound for a text that no change has as its id."""
    try:
        raw = urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
        made = msgspec.json.decode(raw, type=ChangeId)
        check_id("store", made.store)
        instant_of(made.at)
    except (ValueError, OverflowError):
        made = None
    if made is None or not _NUMBER.fullmatch(made.number) or made.text != text:
        raise sk.services.NotFound(f"there is no price change {text[:80]!r}")
    return made

"""What dead letters of a store and of a topic have in common: how they are shown, chosen, and what becomes of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple


class Action(StrEnum):
    RETRY = "retry"
    DROP = "drop"


class Outcome(StrEnum):
    LISTED = "listed"
    SENT = "sent"
    DROPPED = "dropped"
    FAILED = "failed"
    """It stays among the dead letters."""
    GONE = "gone"
    """Another command has sent or dropped it meanwhile."""


class Letter(NamedTuple):
    id: str
    source: str
    """The name of the feed, or of the topic."""
    at: datetime
    """When it was given up."""
    reason: str
    content: Mapping[str, Any]
    """The rest, as JSON."""


class Dealt(NamedTuple):
    """A letter, and what became of it."""

    letter: Letter
    outcome: Outcome
    reason: str = ""
    """Why it failed."""


class Wanted(NamedTuple):
    """Which letters are meant; all by default."""

    feeds: Collection[str] = ()
    ids: Collection[str] = ()
    reason: str = ""
    """A part of the reason, in small or capital letters."""
    since: datetime | None = None
    until: datetime | None = None
    limit: int | None = None

    def matches(self, at: datetime, reason: str) -> bool:
        return (
            (self.since is None or at >= self.since)
            and (self.until is None or at < self.until)
            and self.reason.casefold() in reason.casefold()
        )


class UnknownLetters(Exception):
    """The letters that are wanted cannot be: an id of another form, or a feed that is not there."""


class Stopped(Exception):
    """The command cannot go on; the message says why. What was sent or dropped before stays so."""

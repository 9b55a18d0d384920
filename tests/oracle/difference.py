"""Known differences: where DynamoDB Local differs from AWS, and we agree with AWS."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from tests.oracle.endpoint import OracleError

Answer = dict[str, Any]
Outcome = Answer | OracleError
Request = tuple[str, dict[str, Any]]

ANSWERED: Final = "answered"
"""Matches any outcome that is not an error."""


@dataclass(frozen=True)
class Rejected:
    """At least one side rejects, and the other does not reject in the same way.

    `ours` and `theirs` are patterns of the outcomes, `Code: message` or ANSWERED, with `…` for any text and `|` between
    alternatives. `of` restricts the difference to some requests. An example is a list of requests to the tables `plain`
    and `orders`; the last one differs.
    """

    id: str
    why: str
    ours: str
    theirs: str
    example: tuple[Request, ...]
    of: Callable[[Request], bool] = lambda _request: True

    def excuses(self, request: Request, ours: Outcome, theirs: Outcome) -> bool:
        return _matches(self.ours, ours) and _matches(self.theirs, theirs) and self.of(request)


@dataclass(frozen=True)
class Answered:
    """Both sides answer; `corrected` turns DynamoDB Local's answer into the one that AWS would give.

    It may use ours where theirs does not determine AWS's, and must then check that ours is plausible. The same holds
    for two errors and their members other than code and message.
    """

    id: str
    why: str
    local: str
    corrected: Callable[[Request, Answer, Answer], Answer]
    example: tuple[Request, ...]

    def correct(self, request: Request, ours: Outcome, theirs: Outcome) -> Outcome:
        match ours, theirs:
            case OracleError(), OracleError():
                members = self.corrected(request, ours.members, theirs.members)
                return OracleError(theirs.code, theirs.message, members)
            case dict(), dict():
                return self.corrected(request, ours, theirs)
        return theirs


@dataclass(frozen=True)
class Detected:
    """An error of some operations says that it was detected, and then what DynamoDB Local says alone."""

    id: str
    why: str
    operations: frozenset[str]
    example: tuple[Request, ...]

    def bare(self, request: Request, ours: Outcome) -> Outcome:
        """Our error in the words that the other entries know. The service model's own words stay as they are."""
        prefix = "1 validation error detected: "
        if not isinstance(ours, OracleError) or request[0] not in self.operations:
            return ours
        words = ours.message.removeprefix(prefix)
        return ours if words.startswith("Value ") and " at '" in words else OracleError(ours.code, words, ours.body)


Difference = Rejected | Answered | Detected


def _matches(texts: str, outcome: Outcome) -> bool:
    said = str(outcome) if isinstance(outcome, OracleError) else ANSWERED
    return _pattern(texts).fullmatch(said) is not None


@cache
def _pattern(texts: str) -> re.Pattern[str]:
    return re.compile("|".join(".*".join(map(re.escape, text.split("…"))) for text in texts.split(" | ")), re.DOTALL)

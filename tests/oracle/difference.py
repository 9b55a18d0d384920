"""What a known difference is: where DynamoDB Local does other than AWS, and we do as AWS."""

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
"""Stands for any outcome that is not an error."""


@dataclass(frozen=True)
class Rejected:
    """At least one side rejects, and not as the other does.

    `ours` and `theirs` are what the sides say, `Code: message` or ANSWERED, with `…` for any text; `|` stands between
    two that they may say. An example is a chain of requests to the tables `plain` and `orders`; its last one shows it.
    """

    id: str
    why: str
    ours: str
    theirs: str
    example: tuple[Request, ...]

    def excuses(self, ours: Outcome, theirs: Outcome) -> bool:
        return _says(self.ours, ours) and _says(self.theirs, theirs)


@dataclass(frozen=True)
class Answered:
    """Both sides answer; `corrected` makes of DynamoDB Local's answer the one that AWS would have given.

    It may look at ours where AWS's cannot be told from theirs, and must then make sure that ours is a likely one. The
    same goes for two errors and the members that they have besides code and message.
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


Difference = Rejected | Answered


def _says(texts: str, outcome: Outcome) -> bool:
    said = str(outcome) if isinstance(outcome, OracleError) else ANSWERED
    return _pattern(texts).fullmatch(said) is not None


@cache
def _pattern(texts: str) -> re.Pattern[str]:
    return re.compile("|".join(".*".join(map(re.escape, text.split("…"))) for text in texts.split(" | ")), re.DOTALL)

"""One request, two databases: ours and the oracle. Answers must be equal, and so must errors."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Protocol

from tests.oracle.canonical import canonical
from tests.oracle.difference import Detected, Difference, Outcome, Rejected, Request
from tests.oracle.endpoint import OracleError

SHOWN: Final = 8
"""How many mismatches of a family are printed; the rest are counted."""

RUN: Final = re.compile(r"(.)\1{15,}")
"""The same character many times, as in tests of limits."""

LONGEST: Final = 600


class Side(Protocol):
    """A database that answers, or raises OracleError."""

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]: ...


class Mismatch(AssertionError):
    """The two sides do not agree, and no known difference explains it."""

    def __init__(self, request: Request, ours: Outcome, theirs: Outcome) -> None:
        operation, members = request
        super().__init__(f"{operation} {_shown(members)}\n  ours:   {_shown(ours)}\n  theirs: {_shown(theirs)}")
        self.request = request
        self.ours = ours
        self.theirs = theirs


class Pair:
    def __init__(self, ours: Side, theirs: Side, known: Sequence[Difference] = ()) -> None:
        self.ours = ours
        self.theirs = theirs
        self._known = known

    def same(self, operation: str, **members: Any) -> Outcome:
        """Our outcome, an answer or an error, which must be the oracle's too."""
        return self.compare(operation, members)[0]

    def answer(self, operation: str, **members: Any) -> dict[str, Any]:
        """As `same`, and both must answer: a family whose requests are all rejected would compare little."""
        outcome = self.same(operation, **members)
        if isinstance(outcome, OracleError):
            raise AssertionError(f"{operation} was rejected by both: {outcome}\n{_shown(members)}")
        return outcome

    def error(self, operation: str, **members: Any) -> OracleError:
        outcome = self.same(operation, **members)
        if not isinstance(outcome, OracleError):
            raise AssertionError(f"{operation} was answered by both: {_shown(outcome)}\n{_shown(members)}")
        return outcome

    def each(self, requests: Iterable[Request]) -> None:
        """Compares every request, then raises all mismatches together."""
        mismatches: list[str] = []
        count = 0
        for operation, members in requests:
            count += 1
            try:
                self.compare(operation, members)
            except Mismatch as mismatch:
                mismatches.append(str(mismatch))
        assert count, "a family without requests"
        if mismatches:
            listed = "\n\n".join(mismatches[:SHOWN])
            raise AssertionError(f"{len(mismatches)} of {count} requests differ\n\n{listed}")

    def create(self, definition: dict[str, Any]) -> None:
        """Creates the table on both sides. The family of tables compares its descriptions."""
        self.both("CreateTable", definition)
        self.both_until("DescribeTable", {"TableName": definition["TableName"]}, _is_active)

    def both(self, operation: str, members: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Both answers, not compared."""
        return self.ours.call(operation, members), self.theirs.call(operation, members)

    def both_until(self, operation: str, members: dict[str, Any], done: Callable[[dict[str, Any]], bool]) -> None:
        for side in (self.ours, self.theirs):
            while not done(side.call(operation, members)):
                pass

    def compare(self, operation: str, members: dict[str, Any]) -> tuple[Outcome, Outcome]:
        """Both outcomes, unchanged; raises Mismatch if they do not agree."""
        ours, theirs = outcome(self.ours, operation, members), outcome(self.theirs, operation, members)
        if not self.agree((operation, members), ours, theirs):
            raise Mismatch((operation, members), ours, theirs)
        return ours, theirs

    def agree(self, request: Request, ours: Outcome, theirs: Outcome) -> bool:
        """Whether the outcomes are equal, except for known differences."""
        for difference in self._known:
            if isinstance(difference, Rejected):
                if difference.excuses(request, ours, theirs):
                    return True
            elif isinstance(difference, Detected):
                ours = difference.bare(request, ours)
            else:
                theirs = difference.correct(request, ours, theirs)
        return bool(comparable(request[0], ours) == comparable(request[0], theirs))


def outcome(side: Side, operation: str, members: dict[str, Any]) -> Outcome:
    """The side's answer, or its error."""
    try:
        return side.call(operation, members)
    except OracleError as error:
        return error


def comparable(operation: str, outcome: Outcome) -> Any:
    """What two databases must have in common."""
    if isinstance(outcome, OracleError):
        return outcome.code, outcome.message, canonical(operation, outcome.members)
    return canonical(operation, outcome)


def _shown(outcome: Outcome) -> str:
    text = json.dumps(outcome.members if isinstance(outcome, OracleError) else outcome)
    if isinstance(outcome, OracleError):
        text = f"{outcome} {text}"
    return RUN.sub(lambda run: f"{run[1]}*{len(run[0])}", text)[:LONGEST]


def _is_active(answer: dict[str, Any]) -> bool:
    return bool(answer["Table"]["TableStatus"] == "ACTIVE")

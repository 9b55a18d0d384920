"""What the core asks of a shell, as plain data.

A call of a session is a generator: it yields a step, and is sent the answer or thrown the error.

    Call      one request; answered by the store's answer, or the ClientError is thrown in
    Calls     several at the same time; answered by a list with an answer or a ClientError for each
    Pause     some time before going on
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from random import random
from time import monotonic
from typing import Any, Final, NamedTuple, TypeVar

from botocore.exceptions import ClientError

T = TypeVar("T")
Answer = dict[str, Any]


class Call(NamedTuple):
    operation: str
    members: dict[str, Any]
    path: str
    """Which access path it is metered under."""
    unparsed: bool = False
    """Whether the answer's items are wanted as text."""
    binary: bool = True
    """Whether binary may occur in the members of such a request."""


class Calls(NamedTuple):
    calls: tuple[Call, ...]


class Pause(NamedTuple):
    seconds: float


Step = Call | Calls | Pause
Steps = Generator[Step, Any, T]

THROTTLED: Final = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "ThrottlingException",
        "RequestLimitExceeded",
        "TransactionConflictException",
        "TransactionInProgressException",
    }
)
"""Errors of this moment: the same request may well succeed a little later."""


@dataclass(frozen=True, slots=True)
class Pacing:
    """Time and chance, so that a test can decide them."""

    now: Callable[[], float] = monotonic
    chance: Callable[[], float] = random
    first_pause: float = 0.05
    longest_pause: float = 5.0

    def pause(self, attempt: int) -> Pause:
        """Before trying again: anything up to a limit that doubles, so that many clients do not come back at once."""
        return Pause(self.chance() * min(self.longest_pause, self.first_pause * 2 ** min(attempt, 20)))


def code_of(error: ClientError) -> str:
    code: str = error.response["Error"]["Code"]
    return code


def retried(call: Call, pacing: Pacing) -> Steps[Answer]:
    """The answer, however often the store has to be asked; the shell ends it when the time is over."""
    try:
        answer: Answer = yield call
    except ClientError as error:
        answer = yield from again(call, pacing, error)
    return answer


def again(call: Call, pacing: Pacing, first: ClientError) -> Steps[Answer]:
    """Try again after a first error, which is raised unless it is temporary."""
    attempt = 0
    last = first
    while True:
        if code_of(last) not in THROTTLED:
            raise last
        yield pacing.pause(attempt)
        attempt += 1
        try:
            answer: Answer = yield call
        except ClientError as error:
            last = error
        else:
            return answer

"""Whether one item behaved like a register that does one operation at a time.

A history has the calls of all clients to one item, each with the times between which the client waited for its answer.
It is linearizable if the calls can be put in an order in which a plain variable gives the same answers, and no call
comes before one that had been answered before it began. A call without an answer may have happened at any time after
it began, or never.

The search tries every call that may come next (Wing and Gong), and never twice the same calls with the same value
(Lowe).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

Kind = Literal["get", "put", "put if", "add", "delete"]
Value = int | None
"""None: there is no item."""


class Answer(NamedTuple):
    written: bool
    seen: Value
    """The new value of an `add`, and the old one for other calls."""


class Call(NamedTuple):
    kind: Kind
    value: int = 0
    expected: Value = None
    """What a `put if` replaces."""

    def applied(self, value: Value) -> tuple[Answer, Value]:
        """The answer, and the new value, if the register has this value."""
        if self.kind == "get" or (self.kind == "put if" and value != self.expected):
            return Answer(False, value), value
        if self.kind == "add":
            added = (value or 0) + self.value
            return Answer(True, added), added
        return Answer(True, value), None if self.kind == "delete" else self.value


class Operation(NamedTuple):
    client: str
    call: Call
    began: float
    ended: float = math.inf
    answer: Answer | None = None
    """None if it never came."""


def order_of(history: Sequence[Operation]) -> list[Operation] | None:
    """The operations in an order that explains all answers; those that had none may be missing. None if there is no
    such order. The register has no value at first."""
    operations = sorted(history, key=lambda operation: operation.began)
    answered = sum(1 << index for index, operation in enumerate(operations) if operation.answer is not None)
    seen: set[tuple[int, Value]] = set()
    paths: list[tuple[int, Value, list[Operation]]] = [(0, None, [])]
    while paths:
        done, value, order = paths.pop()
        if done & answered == answered:
            return order
        # What begins after the first answer that is left comes after that call.
        first_answer = min(each.ended for index, each in enumerate(operations) if not done >> index & 1)
        for index, operation in enumerate(operations):
            if operation.began > first_answer:
                break
            if done >> index & 1:
                continue
            answer, new = operation.call.applied(value)
            after = (done | 1 << index, new)
            if operation.answer in (None, answer) and after not in seen:
                seen.add(after)
                paths.append((*after, [*order, operation]))
    return None


def shown(history: Sequence[Operation]) -> str:
    """A history, one line for each operation."""
    return "\n".join(
        f"  {each.began:.6f} to {each.ended:.6f} {each.client}: {each.call.kind} {each.call.value} "
        f"(expected {each.call.expected}) -> {each.answer}"
        for each in sorted(history, key=lambda operation: operation.began)
    )

"""What was asked and answered, and the plain model that the store must agree with.

Every item carries the number of the operation that wrote it, and the table's stream has the images before and after
each change. So the stream says which operations were executed, and in which order; the model executes them again on a
dictionary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

Plain = dict[str, Any]
"""An item without types."""

WAITING: Final = "waiting"
DONE: Final = "done"
ABSENT: Final = "absent"
"""It got an error, or was found missing after a crash; it may never appear."""
UNKNOWN: Final = "unknown"
"""It got an error that does not say whether it was executed."""


@dataclass(eq=False)
class Operation:
    number: int
    kind: str
    keys: tuple[str, ...]
    client: str
    invoked: int
    asked_at: float
    """The clock's time."""
    items: dict[str, Plain] = field(default_factory=dict)
    """What it puts, by key."""
    outcome: str = WAITING
    answered: int | None = None
    old: int | None = None
    """The operation that wrote what this one replaced, if it was told."""
    request: Plain = field(default_factory=dict)

    def expected(self, key: str, before: Plain | None) -> Plain:
        """The item after this operation."""
        if self.kind != "add":
            return self.items[key]
        return {**(before or {"id": key}), "n": (before or {}).get("n", 0) + 1, "op": self.number}


@dataclass(frozen=True)
class Record:
    """A stream record."""

    key: str
    before: Plain | None
    after: Plain | None
    by_service: bool


@dataclass
class History:
    operations: list[Operation] = field(default_factory=list)
    surprises: list[tuple[str, object]] = field(default_factory=list)
    """Answers that are wrong whatever the store contains."""

    def verify(self, records: Sequence[Record], items: dict[str, Plain], now: float) -> None:
        """Compare with a store that has just been opened. What a crash has lost must never appear."""
        assert not self.surprises, self.surprises[0]
        places: dict[tuple[int, str], int] = {}
        removals: dict[tuple[str, int], int] = {}
        state: dict[str, Plain] = {}
        for place, record in enumerate(records):
            assert record.before == state.get(record.key), ("a change begins where none ended", place, record)
            if record.after is not None:
                self._check_change(record, place, places)
                state[record.key] = record.after
            else:
                assert record.before is not None
                self._check_removal(record, place, removals, now)
                del state[record.key]
        assert state == items, "the items are not what their changes lead to"
        self._check_outcomes(places, removals)
        self._check_order(places)

    def _check_change(self, record: Record, place: int, places: dict[tuple[int, str], int]) -> None:
        assert record.after is not None
        operation = self.operations[record.after["op"]]
        name = (operation.number, record.key)
        assert name not in places, ("executed twice", operation)
        assert record.after == operation.expected(record.key, record.before), ("not what was asked for", operation)
        places[name] = place
        if operation.outcome == DONE and operation.kind in ("put", "add"):
            assert operation.old == (record.before or {}).get("op"), ("answered with another old item", operation)

    def _check_removal(self, record: Record, place: int, removals: dict[tuple[str, int], int], now: float) -> None:
        assert record.before is not None
        if record.by_service:
            assert record.before["expires"] <= now, ("not expired yet", record)
        else:
            removals[record.key, record.before["op"]] = place

    def _check_outcomes(self, places: dict[tuple[int, str], int], removals: dict[tuple[str, int], int]) -> None:
        left = dict(removals)
        for operation in self.operations:
            if operation.kind != "delete":
                self._check_outcome(operation, sum((operation.number, key) in places for key in operation.keys))
            elif operation.outcome == DONE and operation.old is not None:
                found = left.pop((operation.keys[0], operation.old), None)
                assert found is not None, ("an acknowledged delete is gone", operation)
        for key, _ in left:
            candidates = [each for each in self.operations if each.kind == "delete" and each.keys == (key,)]
            assert any(each.outcome in (WAITING, UNKNOWN) for each in candidates), ("deleted by no operation", key)

    def _check_outcome(self, operation: Operation, found: int) -> None:
        if operation.outcome == DONE:
            assert found == len(operation.keys), ("an acknowledged write is gone", operation)
        elif operation.outcome == ABSENT:
            assert found == 0, ("a write that got an error is there", operation)
        else:
            assert found in (0, len(operation.keys)), ("a write is half there", operation)
            if found == 0 and operation.kind != "transact":
                operation.outcome = ABSENT

    def _check_order(self, places: dict[tuple[int, str], int]) -> None:
        """Whatever was answered before another was asked comes before it; so do the writes of one client."""
        latest = -1
        last: dict[str, int] = {}
        for (number, _), _ in sorted(places.items(), key=lambda entry: entry[1]):
            operation = self.operations[number]
            if operation.outcome == DONE and operation.answered is not None:
                assert operation.answered >= latest, ("executed after what was asked later", operation)
            latest = max(latest, operation.invoked)
            if operation.kind != "transact":
                assert last.get(operation.client, -1) <= number, ("not in the order of its client", operation)
                last[operation.client] = number

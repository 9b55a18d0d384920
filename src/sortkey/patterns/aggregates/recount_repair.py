"""Compares what a recount expects with the aggregate's items, reports what differs, and repairs it beside the feed.

A sum that is wrong stays wrong by the same amount, whatever the feed adds to it meanwhile. So it is repaired by adding
the difference, on the condition that no other recount has done so: a repair leaves a token in the item, which must be
as it was read. Copies of a sum in index keys are set to the sum. A text with a sum is set on the condition that the sum
is as it was read. An extreme is replaced, on the condition that the item's checkpoints have not moved. If a condition
fails, the stream is read up to its tip again, and the item is compared anew.

With `keep_expired`, what is more than expected may have expired while no feed saw it. So a repair never takes from a
value: such an item is left as it is, and stays in the report.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple
from uuid import uuid4

from botocore.exceptions import ClientError

from sortkey.model.calls.conditional_writes import row_of_failed_condition
from sortkey.model.calls.steps import Context, Steps
from sortkey.model.calls.updates import revision_clause
from sortkey.model.changes.placeholders import Placeholders, all_of
from sortkey.model.changes.version_tests import is_not_newer
from sortkey.model.fields.attribute_values import comparable
from sortkey.model.fields.codec import Row
from sortkey.model.fields.converter import Value
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.pattern_steps import context_of, run_steps
from sortkey.patterns.aggregates.checkpoints import checkpoints_in
from sortkey.patterns.aggregates.recount import Expected, Recount
from sortkey.patterns.aggregates.target import Target
from sortkey.patterns.aggregates.values import Group, StoredExtreme, sum_exactly

EXAMPLES: Final = 20
_ROUNDS: Final = 10
_TOKEN: Final = "recount"


class Difference(NamedTuple):
    """A value of the aggregate that is not what the counted items say."""

    group: dict[str, Any]
    """The fields in the key of its item."""
    field: str
    """The field, or the attribute of an index key that should have its value."""
    found: Any
    expected: Any


@dataclass(slots=True)
class RecountReport:
    """What a recount has found, and repaired."""

    items: int = 0
    """The counted items."""
    groups: int = 0
    """The items of the aggregate that were compared."""
    wrong: int = 0
    """Those with a wrong value."""
    inexact: int = 0
    """Those with a minimum or maximum that was only a bound."""
    repaired: int = 0
    """Those of both that are right now."""
    unsettled: int = 0
    """Those that could not be repaired: with an extreme, because the feed has not applied all changes; with
    `keep_expired`, because a value would lose what may have expired."""
    examples: list[Difference] = field(default_factory=list)
    """The first differences."""

    @property
    def is_clean(self) -> bool:
        """Whether all values are right, now that it has ended."""
        return self.wrong + self.inexact == self.repaired and not self.unsettled

    def __str__(self) -> str:
        return (
            f"{self.items} items counted, {self.groups} groups compared: {self.wrong} wrong, {self.inexact} inexact, "
            f"{self.repaired} repaired, {self.unsettled} unsettled"
        )


class RecountComparison:
    """The items of an aggregate beside what they should be."""

    def __init__(self, session: AsyncSession, target: Target, count: Recount, repair: bool) -> None:
        self._session = session
        self._context = context_of(session)
        self._target = target
        self._truth, self._reading, self._rows = count
        self._repair = repair
        self._token = f"{target.prefix}:{_TOKEN}"
        self._metered = f"recount {target.schema.name}"
        self.report = RecountReport(items=self._truth.items)

    async def run(self) -> RecountReport:
        groups = dict.fromkeys([*self._rows, *self._truth.groups])
        self.report.groups = len(groups)
        left = [group for group in groups if self._compare(group)]
        if self._repair:
            for attempt in range(_ROUNDS):
                left = [group for group in left if not await self._repaired(group)]
                if not left:
                    break
                await self._read_again(left, attempt)
            self.report.unsettled += len(left)
        return self.report

    async def _read_again(self, groups: Iterable[Group], attempt: int) -> None:
        """Reads the items of these groups, and then the stream, so that the truth is not older than the items."""
        await run_steps(self._session, self._pause(attempt))
        for group in groups:
            self._rows[group] = await run_steps(self._session, self._read(group))
        self._truth.add_changes(await self._reading.read_to_tip())

    def _pause(self, attempt: int) -> Steps[None]:
        yield self._context.pacing.pause(attempt)

    def _compare(self, group: Group) -> bool:
        """Whether something is to be repaired; counts and shows it."""
        row = self._rows.get(group, {})
        expected = self._truth.expected(group, row)
        found = [
            *self._wrong_sums(row, expected),
            *self._wrong_bounds(row, expected),
            *self._wrong_copies(row, expected),
            *self._wrong_texts(group, row, expected),
        ]
        shown = dict(zip(self._target.group, group, strict=True))
        for name, was, should in found[: EXAMPLES - len(self.report.examples)]:
            self.report.examples.append(Difference(shown, name, was, should))
        inexact = any(not self._target.bound_in(row, name).exact for name in self._target.extremes)
        if found:
            self.report.wrong += 1
        elif inexact:
            self.report.inexact += 1
        return bool(found) or inexact

    def _wrong_sums(self, row: Row, expected: Expected) -> list[tuple[str, Any, Any]]:
        found = {name: self._target.sum_in(row, name) for name in expected.sums}
        return [(name, found[name], value) for name, value in expected.sums.items() if found[name] != value]

    def _wrong_bounds(self, row: Row, expected: Expected) -> list[tuple[str, Any, Any]]:
        """The extremes that claim to be exact and are not."""
        bounds = expected.bounds or {}
        found = {name: self._target.bound_in(row, name) for name in bounds}
        return [
            (name, found[name].value, bound.value)
            for name, bound in bounds.items()
            if found[name].exact and found[name].value != bound.value
        ]

    def _wrong_copies(self, row: Row, expected: Expected) -> list[tuple[str, Any, Any]]:
        """The index keys with another value than the item."""
        return [
            (copy.attribute, _shown(row.get(copy.attribute)), self._right(copy.name, row, expected))
            for copy in self._target.wrong_copies(row, self._target.positions)
        ]

    def _wrong_texts(self, group: Group, row: Row, expected: Expected) -> list[tuple[str, Any, Any]]:
        """The texts of index keys with another sum than the item."""
        right = self._target.sum_texts(group, expected.sums)
        return [
            (attribute, _shown(row.get(attribute)), _shown(right[attribute]))
            for attribute in self._target.wrong_texts(row, group)
        ]

    def _right(self, name: str, row: Row, expected: Expected) -> Any:
        """What a value should be, or is, if that is not known."""
        if name in expected.sums:
            return expected.sums[name]
        return (expected.bounds or {}).get(name, self._target.bound_in(row, name)).value

    async def _repaired(self, group: Group) -> bool:
        """Repairs an item as it was read; whether it is right now, or must stay as it is."""
        row = self._rows.get(group, {})
        expected = self._truth.expected(group, row)
        bounds = expected.bounds or {}
        if self._target.expired and self._would_lose(row, expected):
            self.report.unsettled += 1
            return True
        wrong_keys = self._target.wrong_copies(row, self._target.sums) or self._target.wrong_texts(row, group)
        if wrong_keys or self._wrong_sums(row, expected):
            request = self._sums_request(group, row, expected)
            # Extremes follow in the next round.
            is_whole = not self._target.extremes
        elif bounds and self._has_other_bounds(row, bounds):
            request, is_whole = self._bounds_request(group, row, expected), True
        else:
            is_right = expected.bounds is not None or not self._target.extremes
            self.report.repaired += is_right
            return is_right
        is_right = await run_steps(self._session, self._is_written(request)) and is_whole
        self.report.repaired += is_right
        return is_right

    def _would_lose(self, row: Row, expected: Expected) -> bool:
        """Whether a repair would take something from a value."""
        if any(value < found for _, found, value in self._wrong_sums(row, expected)):
            return True
        return any(
            found is not None and (value is None or self._target.extremes[name].is_beyond(found, value))
            for name, found, value in self._wrong_bounds(row, expected)
        )

    def _has_other_bounds(self, row: Row, bounds: Mapping[str, StoredExtreme]) -> bool:
        differs = any(self._target.bound_in(row, name) != bound for name, bound in bounds.items())
        return differs or bool(self._target.wrong_copies(row, bounds))

    def _is_written(self, request: dict[str, Any]) -> Steps[bool]:
        """Writes the item if it is as it was read."""
        try:
            yield from self._context.send("UpdateItem", request, self._metered)
        except ClientError as error:
            row_of_failed_condition(error)
            return False
        return True

    def _read(self, group: Group) -> Steps[Row]:
        key = self._target.fixed(group).key
        members = {"TableName": self._target.schema.table, "Key": key, "ConsistentRead": True}
        answer = yield from self._context.send("GetItem", members, self._metered)
        row: Row = answer.get("Item", {})
        self._target.require_known(row)
        return row

    def _sums_request(self, group: Group, row: Row, expected: Expected) -> dict[str, Any]:
        made = _Request(self._target, group, self._context)
        made.set(self._token, {"S": uuid4().hex})
        deltas = {name: sum_exactly(value, [-found]) for name, found, value in self._wrong_sums(row, expected)}
        for name, _ in self._target.wrong_copies(row, self._target.sums):
            deltas.setdefault(name, self._target.zeros[name])
        for name, delta in deltas.items():
            made.add(name, delta)
        for attribute, text in self._target.sum_texts(group, expected.sums).items():
            made.set(attribute, text)
        fields = self._target.schema.codec.by_name
        made.require_same(row, [self._token, *(fields[name].attribute for name in self._target.sums_in_texts)])
        return made.members

    def _bounds_request(self, group: Group, row: Row, expected: Expected) -> dict[str, Any]:
        made = _Request(self._target, group, self._context)
        for name, bound in (expected.bounds or {}).items():
            made.set(self._target.flags[name], {"BOOL": True})
            for attribute in self._target.attributes[name]:
                made.set(attribute, None if bound.value is None else self._target.encoded(name, bound.value))
        checkpoints = {name for name, _ in checkpoints_in(self._target.prefix, row)}
        made.require_same(row, sorted(checkpoints | self._truth.checkpoints_of(group)))
        return made.members


class _Request:
    """An UpdateItem under construction, for an item that may be missing."""

    def __init__(self, target: Target, group: Group, context: Context) -> None:
        self._target = target
        self._key, sets = target.fixed(group)
        self._placeholders = Placeholders()
        self._sets: list[str] = []
        self._adds: list[str] = []
        self._removes: list[str] = []
        self._tests: list[str] = []
        for name, value in sets.items():
            self.set(name, value)
        stamps = target.schema.stamps
        for name in () if stamps is None else stamps.updated:
            self.set(target.schema.codec.by_name[name].attribute, target.encoded(name, context.moment))
        self._adds += [clause.text for clause in revision_clause(target.schema, self._placeholders)]

    def set(self, attribute: str, value: Any) -> None:
        """Sets an attribute; None removes it."""
        name = self._placeholders.name(attribute)
        if value is None:
            self._removes.append(name)
        else:
            self._sets.append(f"{name} = {self._placeholders.value(value)}")

    def add(self, field: str, amount: Any) -> None:
        """Adds to a sum, and sets the copies of it to the result."""
        name = self._placeholders.name(self._target.schema.codec.by_name[field].attribute)
        delta = self._placeholders.value(self._target.encoded(field, amount))
        self._adds.append(f"{name} {delta}")
        if self._target.copies[field]:
            zero = self._placeholders.value(self._target.encoded(field, self._target.zeros[field]))
            for copy in self._target.copies[field]:
                self._sets.append(f"{self._placeholders.name(copy)} = if_not_exists({name}, {zero}) + {delta}")

    def require_same(self, row: Row, attributes: Iterable[str]) -> None:
        """The condition that the item exists, or is missing, as it did, and that these attributes are as they were."""
        partition = self._placeholders.name(self._target.schema.primary.partition.name)
        self._tests.append(f"{'attribute_exists' if row else 'attribute_not_exists'}({partition})")
        self._tests += [self._placeholders.equal(name, row.get(name)) for name in attributes]
        self._tests.append(is_not_newer(self._target.schema, self._placeholders))

    @property
    def members(self) -> dict[str, Any]:
        sections = {"SET": self._sets, "REMOVE": self._removes, "ADD": self._adds}
        return self._placeholders.added_to(
            {
                "TableName": self._target.schema.table,
                "Key": self._key,
                "UpdateExpression": " ".join(f"{name} {', '.join(each)}" for name, each in sections.items() if each),
                "ConditionExpression": all_of(self._tests),
            }
        )


def _shown(value: Value | None) -> Any:
    """A value of an index key, which any program may have written, in any type."""
    return None if value is None else comparable(value)

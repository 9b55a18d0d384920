"""Writes of one item under a condition, and how they are carried out.

The store tests the condition. If it fails, the error holds the current row. The write is prepared again from that row:
if that makes another request, because the row has changed since it was read, has an older version, or lacks a part of
an index key, it is sent; if it makes the same, the item does not match. So a write reads at most once, however many
attempts it takes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import datetime
from typing import Any, Final, NamedTuple

from botocore.exceptions import ClientError

from sortkey.model.calls.steps import Answer, Context, Steps, code_of
from sortkey.model.changes.placeholders import Placeholders, any_of
from sortkey.model.errors import ConditionFailed
from sortkey.model.fields.codec import Row
from sortkey.model.items.access_path import AccessPath
from sortkey.model.items.schema import Schema

_CONDITION_FAILED: Final = "ConditionalCheckFailedException"


class Prepared(NamedTuple):
    """A write that is ready to be sent."""

    action: str
    """`Put`, `Update`, `Delete` or `ConditionCheck`: the name in a transaction. The first three with `Item` are the
    operations of their own."""
    members: dict[str, Any]


class ConditionalWrite(ABC):
    """One write, prepared from what is known about the item."""

    schema: Schema[Any]
    key: Row
    """The item's primary key."""
    metered: str
    """What the meter counts it under."""

    @property
    @abstractmethod
    def description(self) -> str:
        """For the error of a transaction."""

    def detail(self, _row: Row | None) -> str:
        """What the error of a transaction adds about the row on which this write failed."""
        return ""

    def detach(self) -> None:
        """Copies what the program gave, for a write that is sent later: what the program changes in it meanwhile has no
        effect. A write that stores no fields has nothing to copy."""
        return

    def stamp(self, _now: datetime) -> None:
        """Sets the times that the write stores, once: a transaction that is sent again is the same request. A write
        that stores no fields has none."""
        return

    @abstractmethod
    def prepare(self, row: Row | None) -> Prepared | None:
        """The write, from the item's row if it is known; None if it must be read first."""

    @abstractmethod
    def accepts(self, row: Row) -> bool:
        """Whether the item of this row, which the store cannot judge, meets the condition."""

    def is_settled(self, _sent: dict[str, Any], _row: Row) -> bool:
        """Whether it is known, without preparing it, that this row makes the same request again."""
        return False

    @abstractmethod
    def rejected(self, row: Row | None) -> Exception:
        """The error if the item does not meet the condition; `row` is None if there is no item."""


def of_another_class(path: AccessPath[Any], row: Row) -> ConditionFailed:
    """The error of a write to an item whose tag is that of another class."""
    item = path.schema.decode(row)
    return ConditionFailed(f"{path!r}: the stored item is a {type(item).__name__}", item)


def tag_tests(schema: Schema[Any], placeholders: Placeholders, *, compares: bool) -> list[str]:
    """The test that an item of another class, if one has the key, is left alone. If the write `compares` fields, that
    goes for an item of a subclass, too, if only the program can judge it."""
    required = (schema.exclusive_tags if compares else None) or schema.required_tags
    if required is None:
        return []
    missing = placeholders.equal(schema.primary.partition.name, None)
    return [any_of(missing, *(placeholders.equal(required[0], tag) for tag in required[1]))]


class Outcome(NamedTuple):
    prepared: Prepared
    answer: Answer


def carry_out(
    context: Context, write: ConditionalWrite, returning: str | None = None, *, unparsed: bool = False
) -> Steps[Outcome]:
    """Sends the write until it succeeds; raises what `rejected` returns. `returning` are the ReturnValues of an
    UpdateItem or DeleteItem; with `unparsed`, a store in the process leaves an UpdateItem's unparsed."""
    if write.schema.stamps is not None or write.schema.family is not None:
        # A subclass may have stamps that the class does not have.
        write.stamp(context.moment)
    row: Row | None = None
    attempt = 0
    while True:
        prepared = write.prepare(row)
        if prepared is None:
            row = yield from read(context, write)
            continue
        members = dict(prepared.members)
        if returning is not None and prepared.action != "Put":
            members["ReturnValues"] = returning
        try:
            if unparsed and context.in_process:
                # What was read of the row may be anything.
                binary = row is not None or write.schema.has_binary
                answer = yield from context.send_unparsed("UpdateItem", members, write.metered, binary)
            else:
                answer = yield from context.send(f"{prepared.action}Item", members, write.metered)
        except ClientError as error:
            found = row_of_failed_condition(error)
            if found is None or not may_succeed(write, prepared.members, found):
                raise write.rejected(found) from None
        else:
            return Outcome(prepared, answer)
        if row is not None:
            # The row was known, so another writer has changed it since. Otherwise, the first request was a question.
            yield context.pacing.pause(attempt)
            attempt += 1
        row = found


def may_succeed(write: ConditionalWrite, sent: dict[str, Any], found: Row) -> bool:
    """Whether a write that was sent with these members, and failed on this row, is worth another attempt: the row makes
    another request of it."""
    schema = write.schema
    if not schema.has_own_tag(found) or (schema.needs_program(found) and not write.accepts(found)):
        return False
    if write.is_settled(sent, found):
        return False
    prepared = write.prepare(found)
    return prepared is None or prepared.members != sent


def read(context: Context, write: ConditionalWrite) -> Steps[Row]:
    """The item's current row. Raises ItemMissing."""
    members = {"TableName": write.schema.table, "Key": write.key, "ConsistentRead": True}
    answer = yield from context.send("GetItem", members, write.metered)
    row: Row | None = answer.get("Item")
    if row is None:
        raise write.rejected(None)
    return row


def row_of_failed_condition(error: ClientError) -> Row | None:
    """The stored row on which a condition failed, if there was an item and the request asked for it. Raises any other
    error."""
    if code_of(error) != _CONDITION_FAILED:
        raise error
    response: Any = error.response
    row: Row | None = response.get("Item")
    return row

"""`sk.Change` and `sk.feeds.read_record`: the records of a table's stream, as changes of items.

A record comes in one of two forms, and both are read:

    GetRecords     ApproximateCreationDateTime is a datetime, userIdentity has PrincipalId, binary is bytes
    Lambda event   ApproximateCreationDateTime is a number,   userIdentity has principalId, binary is base64 text
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, Generic, Literal, NamedTuple, TypeVar, overload

from sortkey.model.calls.raw_rows import RawRowReader
from sortkey.model.errors import DecodeError
from sortkey.model.fields.codec import Row
from sortkey.model.fields.real_types import RealTypes, real_time
from sortkey.model.items.item import Item
from sortkey.model.items.table import Table

T = TypeVar("T")
ItemT = TypeVar("ItemT", bound=Item)

Kind = Literal["INSERT", "MODIFY", "REMOVE"]

SEQUENCE_DIGITS: Final = 40
"""The most that a sequence number may have."""
_TTL_PRINCIPAL: Final = "dynamodb.amazonaws.com"
_IMAGES: Final = ("OldImage", "NewImage")
_BOTH: Final = "NEW_AND_OLD_IMAGES"
_NEEDED: Final = ("Keys", "SequenceNumber", "ApproximateCreationDateTime")


class Change(NamedTuple, Generic[T]):
    """One change of an item, from a table's stream.

    def describe(change: sk.Change[Order]) -> str:
        match change:
            case sk.Change(old=None, new=Order(number=number)):
                return f"order {number} was placed"
            case sk.Change(kind="REMOVE", expired=True):
                return "an order expired"
            case _:
                return "an order changed"
    """

    kind: Kind
    """`INSERT`, `MODIFY` or `REMOVE`."""
    old: T | None
    """The item before the change; None if there was none, or if the stream's records do not have it."""
    new: T | None
    """The item after the change; None if it was deleted, or if the stream's records do not have it."""
    key: Row
    """The primary key, in boto3's low-level shape."""
    sequence: str
    """The sequence number, with zeros before it, so that two of one shard compare as texts."""
    at: datetime
    """When the change happened, in UTC; stores may round it to the second."""
    shard: str = ""
    """The id of the shard; empty if it was not given."""
    expired: bool = False
    """Whether the table's TTL deleted the item."""


@overload
def read_record(record: Mapping[str, Any], of: type[ItemT], *, shard: str = ...) -> Change[ItemT]: ...


@overload
def read_record(record: Mapping[str, Any], of: Table, *, shard: str = ...) -> Change[Item]: ...


def read_record(record: Mapping[str, Any], of: type[ItemT] | Table, *, shard: str = "") -> Change[Any]:
    """The change in a record of a table's stream: one of a Lambda event's `Records`, or of GetRecords. `of` is the
    class of the items, or their table; `shard` is the id of the record's shard, which the record does not have. Raises
    DecodeError."""
    return ChangeReader(of).change(record, shard)


class ChangeReader:
    """Reads the records of a class or of a table."""

    def __init__(self, of: type[Item] | Table) -> None:
        self._rows = RawRowReader(of)
        self._created: datetime | float | None = None
        self._at = datetime.fromtimestamp(0, UTC)

    def change(self, record: Mapping[str, Any], shard: str) -> Change[Any]:
        """Raises DecodeError, also if an image is of another class."""
        content = _content(record)
        old, new = (self._rows.item(content[name]) if name in content else None for name in _IMAGES)
        return self._change(record, shard, old, new, self._rows.row(content["Keys"]))

    def own_change(self, record: Mapping[str, Any], shard: str, *, low_level: bool) -> Change[Any] | None:
        """None if no image, or the key if there is none, is of the class, or of a class of the table. An image of
        another class counts as no item: an item with a tag may become one of another class. None also if there was no
        item before and after: DynamoDB Local makes such a record when two requests delete an item at once. `low_level`
        tells that the images are in boto3's low-level shape, as those of GetRecords are. Raises DecodeError."""
        content = _content(record)
        key = content["Keys"] if low_level else self._rows.row(content["Keys"])
        images = [content.get(name) for name in _IMAGES]
        if images == [None, None]:
            if content.get("StreamViewType") == _BOTH:
                return None
            return self._change(record, shard, None, None, key) if self._rows.recognises(key) else None
        rows = images if low_level else [None if image is None else self._rows.row(image) for image in images]
        old, new = (None if row is None else self._rows.own_item(row) for row in rows)
        return None if old is None and new is None else self._change(record, shard, old, new, key)

    def _change(self, record: Mapping[str, Any], shard: str, old: Any, new: Any, key: Row) -> Change[Any]:
        content = record["dynamodb"]
        created = content["ApproximateCreationDateTime"]
        # Records of one second share the object, and converting it takes as long as reading an item.
        if created is not self._created:
            self._created, self._at = created, _moment(created)
        sequence = padded(content["SequenceNumber"])
        return Change(record["eventName"], old, new, key, sequence, self._at, shard, _is_expiry(record))


def padded(sequence_number: str) -> str:
    """A sequence number as a text that compares as the number does."""
    return sequence_number.zfill(SEQUENCE_DIGITS)


def _content(record: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        content: Mapping[str, Any] = record["dynamodb"]
        if "eventName" in record and all(content[name] is not None for name in _NEEDED):
            return content
    except (KeyError, TypeError):
        pass
    raise DecodeError(
        "a record of a stream has eventName, and dynamodb with Keys, SequenceNumber and "
        f"ApproximateCreationDateTime; this one is {record!r}"
    )


def _moment(created: datetime | float) -> datetime:
    return (
        real_time(created.astimezone(UTC))
        if isinstance(created, datetime)
        else RealTypes.datetime.fromtimestamp(created, UTC)
    )


def _is_expiry(record: Mapping[str, Any]) -> bool:
    identity = record.get("userIdentity")
    if not identity:
        return False
    return _TTL_PRINCIPAL in (identity.get("principalId"), identity.get("PrincipalId"))

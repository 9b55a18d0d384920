"""`sk.feeds.DeadLetter`: a change, or a timer, that was given up, in the table `sortkey-dead-letters`."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import uuid4

import orjson

from sortkey.model.items.item import Item
from sortkey.model.items.key import Key
from sortkey.model.items.table import Table

DEAD_LETTERS: Final = Table("sortkey-dead-letters", ttl="expires")
KEPT: Final = timedelta(days=14)
REASON_CHARACTERS: Final = 4096
RECORD_BYTES: Final = 300_000
"""An item has 400 KB at most; a record with two large images has more."""
TIMER_SHARD: Final = "timers"
"""In the place of a shard: the letter is of a timer."""
_IMAGES: Final = ("OldImage", "NewImage")


class DeadLetter(Item, table=DEAD_LETTERS):
    """A change that a feed gave up, or a timer, and why.

        async for letter in db.iterate(sk.feeds.DeadLetter.key(feed="order-printer")):
            print(letter.reason, letter.record)

    The table's TTL deletes it after 14 days.
    """

    feed: str
    """The name of the feed, or of the schedule."""
    shard: str
    """The shard's id; `timers` for a timer."""
    sequence: str
    """The sequence number, with zeros before it; of a timer, `Due.key`."""
    record: str
    """The record of the stream as DynamoDB JSON, which `sk.feeds.read_record(json.loads(letter.record), Order)` reads.
    Of a timer, a JSON object: its schedule, the values of its group, and its time."""
    reason: str
    at: datetime
    """When it was given up."""
    expires: datetime
    complete: bool = True
    """False if the record was too large: its images are left out."""
    token: str = ""
    """Another one each time that the change or timer is given up; empty in letters of earlier versions."""

    key = Key("FEED#{feed}", "{shard}#{sequence}")


def dead_letter(feed: str, shard: str, sequence: str, record: Mapping[str, Any], reason: str, now: float) -> DeadLetter:
    text = as_json(record)
    complete = len(text) <= RECORD_BYTES
    if not complete:
        change = {name: value for name, value in record["dynamodb"].items() if name not in _IMAGES}
        text = as_json({**record, "dynamodb": change})
    at = datetime.fromtimestamp(int(now), UTC)
    return DeadLetter(
        feed=feed,
        shard=shard,
        sequence=sequence,
        record=text.decode(),
        reason=reason[:REASON_CHARACTERS],
        at=at,
        expires=at + KEPT,
        complete=complete,
        token=new_token(),
    )


def new_token() -> str:
    return uuid4().hex


def as_json(record: Mapping[str, Any]) -> bytes:
    """A record of GetRecords in the form that Lambda passes."""
    return orjson.dumps(record, default=_json_value, option=orjson.OPT_PASSTHROUGH_DATETIME)


def _json_value(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.timestamp()
    if isinstance(value, bytes):
        return b64encode(value).decode()
    raise TypeError(f"{type(value).__name__} does not occur in records of streams")

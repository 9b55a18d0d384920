"""Reads rows of a table: all of a segment, page by page, or those of keys. Every read is consistent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from time import sleep
from typing import Any, Final, NamedTuple

from botocore.exceptions import ClientError

from sortkey.client.interface import Client
from sortkey.copies.row_form import Row, fingerprint
from sortkey.copies.row_writer import chunks
from sortkey.limits import BATCH_GET_KEYS
from sortkey.model.calls.steps import THROTTLED, code_of

PAGE_ROWS: Final = 2000
"""Small rows take ten times as much memory here as in a store."""

_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 5.0


class RowPage(NamedTuple):
    rows: list[Row]
    last: Row | None
    """The key after which the next page begins; None at the end."""


def pages(
    client: Client, table: str, segment: int = 0, segments: int = 1, start: Mapping[str, Any] | None = None
) -> Iterator[RowPage]:
    """`start` are members of a Scan that continues."""
    members = dict(start or {})
    pause = _FIRST_PAUSE
    while True:
        try:
            answer = client.scan(
                TableName=table,
                Segment=segment,
                TotalSegments=segments,
                ConsistentRead=True,
                Limit=PAGE_ROWS,
                **members,
            )
        except ClientError as error:
            if code_of(error) not in THROTTLED:
                raise
            sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
            continue
        pause = _FIRST_PAUSE
        last = answer.get("LastEvaluatedKey")
        yield RowPage(answer["Items"], last)
        if last is None:
            return
        members = {"ExclusiveStartKey": last}


def rows_of(client: Client, table: str, keys: Sequence[Row]) -> dict[bytes, Row]:
    """The rows that exist, by the fingerprints of their keys."""
    found: dict[bytes, Row] = {}
    for some in chunks(keys, BATCH_GET_KEYS):
        left: Mapping[str, Any] = {table: {"Keys": list(some), "ConsistentRead": True}}
        pause = 0.0
        while left:
            if pause:
                sleep(pause)
            try:
                answer = client.batch_get_item(RequestItems=left)
            except ClientError as error:
                if code_of(error) not in THROTTLED:
                    raise
                answer = {"UnprocessedKeys": left}
            for row in answer.get("Responses", {}).get(table, ()):
                found[fingerprint({name: row[name] for name in some[0]})] = row
            left = answer.get("UnprocessedKeys") or {}
            pause = min(2 * pause or _FIRST_PAUSE, _LONGEST_PAUSE)
    return found

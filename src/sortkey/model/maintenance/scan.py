"""`AnyScan`: what `db.scan` and `db.scan_rows` return, but for how it is iterated over, sync or async.

A scan reads in rounds: one request for each of up to 16 unfinished segments, all at once. It hands out what it found
before it reads on, and knows after each item where it is: a later scan can continue right there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final, Generic, Literal, NamedTuple, TypeVar

import orjson
from botocore.exceptions import ClientError

from sortkey.limits import SCAN_SEGMENTS
from sortkey.model.calls.queries import from_json_value, to_json_value
from sortkey.model.calls.skipped_rows import report_others, report_undecodable
from sortkey.model.calls.steps import THROTTLED, Answer, Call, Context, ParallelCalls, Steps, code_of
from sortkey.model.costs.meter import units_of
from sortkey.model.errors import CursorError
from sortkey.model.fields.codec import Row
from sortkey.model.maintenance.long_work import ReadRate
from sortkey.model.maintenance.scan_source import ScanSource

T = TypeVar("T")

END: Final = "end"
Position = Row | Literal["end"] | None
"""The key after which a segment continues, its end, or None for its beginning."""

PARALLEL_SEGMENTS: Final = 16
"""How many segments are read at the same time; each request may return 1 MB."""


class ScanOptions(NamedTuple):
    segments: int | None = None
    rate: float | None = None
    after: str | None = None


class SegmentPage(NamedTuple):
    """What one request found."""

    segment: int
    items: Sequence[Any]
    rows: Sequence[Any]
    answer: Answer


class AnyScan(Generic[T]):
    """A scan, of a sync or an async session."""

    def __init__(self, context: Context, source: ScanSource[T], options: ScanOptions) -> None:
        segments, rate, after = options
        if rate is not None:
            context.require_consumed_capacity("rate=")
        self._context = context
        self._source = source
        self._rate = None if rate is None else ReadRate(rate, context.pacing.monotonic)
        self._positions = (
            ScanPositions.first(source.scanned, 1 if segments is None else segments)
            if after is None
            else ScanPositions.parse(after, source.scanned, source.key, segments)
        )
        self._handed_out: tuple[SegmentPage, int] | None = None
        """The page that is being handed out, and its last item that was."""
        self.rows_read = 0
        """The rows read so far."""
        self.units = 0.0
        """The read units taken so far."""

    def __repr__(self) -> str:
        return f"<scan of {self._source.scanned}: {self.rows_read:,} rows read, {self.units:g} read units>"

    @property
    def cursor(self) -> str:
        """The text from which another scan of the same continues, after the last item that was handed out."""
        self._settle()
        return self._positions.text()

    def _settle(self) -> None:
        if self._handed_out is not None:
            page, index = self._handed_out
            self._positions[page.segment] = self._source.position(page.rows[index])

    @property
    def is_unfinished(self) -> bool:
        """Whether there may be more rows."""
        return bool(self._positions.unfinished(1))

    def read_all_segments(self) -> Steps[list[T]]:
        """What one request of each segment finds, handed out at once."""
        pages = yield from self._read(self._unfinished())
        return [item for page in pages for item in self._hand_out(page)]

    def _pause(self) -> float:
        return 0.0 if self._rate is None else self._rate.pause()

    def _unfinished(self) -> list[int]:
        self._settle()
        self._handed_out = None
        return self._positions.unfinished(PARALLEL_SEGMENTS)

    def _read(self, segments: Sequence[int]) -> Steps[list[SegmentPage]]:
        """One request for each of these segments."""
        pending = {segment: self._call(segment, len(segments)) for segment in segments}
        pages: list[SegmentPage] = []
        attempt = 0
        while pending:
            results = yield ParallelCalls(tuple(pending.values()))
            left: dict[int, Call] = {}
            for (segment, call), result in zip(pending.items(), results, strict=True):
                if not isinstance(result, ClientError):
                    pages.append(self._page(segment, result))
                elif code_of(result) in THROTTLED:
                    left[segment] = call
                else:
                    raise result
            pending = left
            if pending:
                yield self._context.pacing.pause(attempt)
                attempt += 1
        return pages

    def _call(self, segment: int, requests: int) -> Call:
        members = dict(self._source.request)
        start, total = self._positions[segment], len(self._positions)
        if total > 1:
            members |= {"Segment": segment, "TotalSegments": total}
        if isinstance(start, dict):
            members["ExclusiveStartKey"] = start
        if self._rate is not None:
            members["Limit"] = self._rate.limit(requests)
        return self._context.call_unparsed("Scan", members, self._source.name, binary=True)

    def _page(self, segment: int, answer: Answer) -> SegmentPage:
        source, meter = self._source, self._context.meter
        read, units = answer["ScannedCount"], units_of(answer.get("ConsumedCapacity"))
        self.rows_read += read
        self.units += units
        if self._rate is not None:
            self._rate.read(read, units)
        found = source.decode(answer["Items"])
        if found.others:
            report_others(meter, source.name, source.schema, found.others)
        if found.errors:
            report_undecodable(meter, source.name, found.errors)
        meter.scanned(source.name, len(found.items))
        return SegmentPage(segment, found.items, found.rows, answer)

    def _hand_out(self, page: SegmentPage) -> Iterator[T]:
        for index, item in enumerate(page.items):
            self._handed_out = (page, index)
            yield item
        self._handed_out = None
        self._positions[page.segment] = page.answer.get("LastEvaluatedKey", END)


class ScanPositions:
    """Where each segment of a scan is, and the text from which a later scan continues.

    The text is JSON, for a program to store: it is neither signed nor encrypted, and contains keys of rows.

        {"scanned": "shop: Order", "positions": [null, {"pk": {"S": "CUSTOMER#ada"}, "sk": …}, "end"]}
    """

    def __init__(self, scanned: str, positions: list[Position]) -> None:
        self._scanned = scanned
        self._positions = positions

    @classmethod
    def first(cls, scanned: str, segments: int) -> ScanPositions:
        """The beginning of each segment. `scanned` names what is scanned."""
        if not 1 <= segments <= SCAN_SEGMENTS:
            raise ValueError(f"segments must be from 1 to {SCAN_SEGMENTS:,}, not {segments}")
        return cls(scanned, [None] * segments)

    @classmethod
    def parse(cls, text: str, scanned: str, key: Collection[str], segments: int | None) -> ScanPositions:
        """The positions in a text. Raises CursorError unless it is of the same scan: of `scanned`, whose rows have
        these key attributes, with this number of segments if it is given."""
        found, positions = _loaded(text)
        if found != scanned:
            raise CursorError(f"the cursor belongs to a scan of {found}, not of {scanned}")
        if segments not in (None, len(positions)):
            raise CursorError(f"the cursor belongs to a scan with {len(positions)} segments, not with {segments}")
        try:
            return cls(scanned, [_position(each, key) for each in positions])
        except (AttributeError, TypeError, ValueError):
            raise CursorError("invalid cursor: a position in it is not a key") from None

    def __len__(self) -> int:
        return len(self._positions)

    def __getitem__(self, segment: int) -> Position:
        return self._positions[segment]

    def __setitem__(self, segment: int, position: Position) -> None:
        self._positions[segment] = position

    def unfinished(self, most: int) -> list[int]:
        """The first segments that are not at their end."""
        found = (segment for segment, position in enumerate(self._positions) if position != END)
        return [segment for segment, _ in zip(found, range(most), strict=False)]

    def text(self) -> str:
        positions = [
            {name: to_json_value(value) for name, value in each.items()} if isinstance(each, dict) else each
            for each in self._positions
        ]
        return orjson.dumps({"scanned": self._scanned, "positions": positions}).decode()


def _loaded(text: str) -> tuple[str, list[Any]]:
    try:
        loaded = orjson.loads(text)
        scanned, positions = loaded["scanned"], loaded["positions"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise CursorError("invalid cursor: it is not the text of a scan's cursor") from None
    if not isinstance(scanned, str) or not isinstance(positions, list) or not positions:
        raise CursorError("invalid cursor: it is not the text of a scan's cursor")
    return scanned, positions


def _position(loaded: Any, key: Collection[str]) -> Position:
    if loaded is None:
        return None
    if loaded == END:
        return END
    if set(loaded) != set(key) or not all(_is_key_value(value) for value in loaded.values()):
        raise ValueError
    return {name: from_json_value(value) for name, value in loaded.items()}


def _is_key_value(value: Any) -> bool:
    ((tag, content),) = value.items()
    return tag in ("S", "N", "B") and isinstance(content, str)

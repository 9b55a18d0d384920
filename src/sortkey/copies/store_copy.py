"""Copies the tables of a store into another one, while they are used.

For each table: the stream's place is noted, the table is made, its rows are copied segment by segment, and then its
changes are applied (`stream_tail.py`) for as long as the copy runs. When all rows are there, both stores are compared.
A cut-over fences the source, applies the last changes, compares what was changed since, and leaves the source fenced.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, Protocol

from sortkey.client.fence_watch import FENCES
from sortkey.client.interface import Client
from sortkey.clock import monotonic
from sortkey.copies.comparison import SHOWN, Comparison, Difference
from sortkey.copies.copy_book import COPIES, FOLLOWING, MOVED, SCANNING, CopyBook, TableRecord
from sortkey.copies.errors import CopyFailed, CopyRefused
from sortkey.copies.fences import FENCE_SECONDS, fences_of
from sortkey.copies.row_form import RowForm, Selection, fingerprint
from sortkey.copies.row_reads import pages
from sortkey.copies.row_writer import RowWriter, Stopped
from sortkey.copies.stream_tail import StreamTail
from sortkey.copies.table_shape import (
    TableShape,
    complete,
    description_of,
    disable_stream,
    enable_stream,
    make,
    names_of,
    require_same_keys,
    shape_of,
)

VIEW: Final = "NEW_IMAGE"
"""Of a stream that the copy enables."""
SEGMENTS_AT_ONCE: Final = 4
SEGMENT_BYTES: Final = 16 << 20
MOST_SEGMENTS: Final = 64
ROUNDS: Final = 20
"""How often rows that differ are read again, or a cut-over tries to catch up before it fences."""
FEW_ROUNDS: Final = 3
"""Without a stream, nobody knows whether a row has stopped changing."""
SHORT_ROUND_SECONDS: Final = 0.2
"""Catching up takes no longer than this when a fence is raised, unless writers are quicker than the copy."""
PAUSE_SECONDS: Final = 0.05

_OWN_TABLES: Final = frozenset({COPIES, FENCES})


class Options(NamedTuple):
    tables: tuple[str, ...] = ()
    """Empty for all."""
    selection: Selection = Selection()
    rate: float | None = None
    """In write units a second."""
    follows: bool = True
    """Whether changes are applied; if not, those that are made meanwhile are missed."""


class Progress(Protocol):
    def note(self, message: str) -> None:
        """A line for the user."""

    def part(self, name: str, unit: str = "") -> Callable[[int, int], None]:
        """A part of the work; what is returned is called with what is done of it, and with the total."""
        ...


class Report(NamedTuple):
    rows: int
    """That were compared."""
    changes: int
    """That were applied."""
    differences: list[Difference]
    seconds: float
    fenced_seconds: float | None = None
    """How long writers were fenced; None without a cut-over."""


@dataclass(slots=True)
class _TableCopy:
    shape: TableShape
    form: RowForm
    record: TableRecord
    tail: StreamTail | None
    pending: set[bytes] = field(default_factory=set)
    """The fingerprints of the keys of rows that were changed since they were last found equal."""


def tables_to_copy(source: Client, wanted: Sequence[str]) -> list[TableShape]:
    """Raises CopyRefused for a table that does not exist, and if there is none."""
    there = [name for name in names_of(source) if name not in _OWN_TABLES]
    for name in wanted:
        if name not in there:
            raise CopyRefused(f"there is no table {name}; those of the source: {', '.join(there) or 'none'}")
    names = [name for name in there if not wanted or name in wanted]
    if not names:
        raise CopyRefused("the source has no tables")
    return [shape_of(source, name) for name in names]


class StoreCopy:
    def __init__(
        self, source: Client, target: Client, options: Options, progress: Progress, stopping: threading.Event
    ) -> None:
        """When `stopping` is set, the copy raises Stopped soon; it can be continued."""
        self._source = source
        self._target = target
        self._options = options
        self._progress = progress
        self._stopping = stopping
        self._halted = threading.Event()
        """Ends what runs beside the copy: set at its end, too."""
        self._book = CopyBook(target)
        self._writer = RowWriter(target, options.rate, stopping)
        self._failure: BaseException | None = None

    def run(self, cut_over_to: str | None = None) -> Report:
        """Copy, follow and compare. With `cut_over_to`, writers are then told that the tables are there."""
        began = monotonic()
        if cut_over_to is not None and not (self._options.selection.is_whole and self._options.follows):
            raise CopyRefused(
                "a cut-over needs all rows as they are, and the stream: leave out --where, --anonymise and --no-stream"
            )
        shapes = tables_to_copy(self._source, self._options.tables)
        if cut_over_to is not None:
            shapes = self._not_moved(shapes)
        self._check_forms(shapes)
        if not self._options.follows:
            self._progress.note("changes that are made during the copy are missed")
        ready: list[_TableCopy] = []
        fenced = None
        try:
            # All of them first, so that nothing is made if one is refused.
            for shape in shapes:
                self._check_target(shape)
            copies = [self._prepared(shape) for shape in shapes]
            with self._following(ready):
                for copy in copies:
                    self._copy_rows(copy)
                    ready.append(copy)
                rows, differences = self._compared(copies)
                if cut_over_to is not None and not differences:
                    fenced = self._cut_over(copies, cut_over_to)
        finally:
            self._halted.set()
            self._writer.close()
        if cut_over_to is None or differences:
            self._end(copies)
        changes = sum(copy.tail.applied for copy in copies if copy.tail is not None)
        return Report(rows, changes, differences, monotonic() - began, fenced)

    def check(self) -> None:
        """Raises CopyRefused for a table that `run` would refuse to copy. Makes nothing."""
        shapes = tables_to_copy(self._source, self._options.tables)
        self._check_forms(shapes)
        for shape in shapes:
            self._check_target(shape)

    def verify(self) -> Report:
        """Compare only."""
        began = monotonic()
        shapes = tables_to_copy(self._source, self._options.tables)
        self._check_forms(shapes)
        for shape in shapes:
            if description_of(self._target, shape.name) is None:
                raise CopyRefused(f"the target has no table {shape.name}")
        selection = self._options.selection
        copies = [_TableCopy(shape, RowForm(shape, selection), TableRecord("", "", 0.0, 1), None) for shape in shapes]
        try:
            rows, differences = self._compared(copies)
        finally:
            self._writer.close()
        return Report(rows, 0, differences, monotonic() - began)

    def _check_forms(self, shapes: Sequence[TableShape]) -> None:
        for shape in shapes:
            RowForm(shape, self._options.selection)
            for index, names in shape.index_keys.items():
                for name in set(names) & set(self._options.selection.anonymised):
                    self._progress.note(
                        f"{name} is in the key of index {index} of table {shape.name}: its rows are found there by "
                        "their pseudonyms, in another order"
                    )

    # before the rows

    def _check_target(self, shape: TableShape) -> None:
        existing = description_of(self._target, shape.name)
        if existing is None:
            return
        if _is_same(shape, existing):
            raise CopyRefused("the source and the target are the same store")
        record = self._book.table(shape.name)
        if record is not None:
            self._check_continued(shape, record)
            return
        require_same_keys(shape, existing)
        if next(pages(self._target, shape.name)).rows:
            self._require_unmoved(shape)
            raise CopyRefused(
                f"table {shape.name} has rows in the target; drop it there, or leave it out with --tables. "
                "To compare the two, use --verify"
            )

    def _not_moved(self, shapes: Sequence[TableShape]) -> list[TableShape]:
        """Those that are left for the cut-over: a command that was killed while it told the writers has moved some."""
        fences = fences_of(self._source)
        moved = [shape for shape in shapes if fences.is_moved(shape)]
        if len(moved) == len(shapes):
            self._require_unmoved(shapes[0])
        if moved:
            self._progress.note(f"moved already, and left alone: {', '.join(shape.name for shape in moved)}")
        return [shape for shape in shapes if shape not in moved]

    def _require_unmoved(self, shape: TableShape) -> None:
        if fences_of(self._source).is_moved(shape):
            raise CopyRefused(f"table {shape.name} has moved: its fence stands, and writers use the target")

    def _prepared(self, shape: TableShape) -> _TableCopy:
        record = self._book.table(shape.name)
        if description_of(self._target, shape.name) is None:
            record = self._begun(shape, record)
            make(self._target, shape)
        elif record is None:
            record = self._begun(shape, None)
        elif record.status == MOVED:
            # The command was killed before it told anybody.
            record.status = FOLLOWING
        if not record.is_made:
            left_out = complete(self._target, shape)
            if left_out:
                store = self._target.capabilities().store
                self._progress.note(f"table {shape.name}: {store} is left without {', and '.join(left_out)}")
            record.is_made = True
            self._book.save_table(shape.name, record)
        form = RowForm(shape, self._options.selection)
        tail = None
        if record.stream is not None:
            tail = StreamTail(self._source, self._book, self._writer, shape.name, form, record, self._stopping)
        return _TableCopy(shape, form, record, tail)

    def _begun(self, shape: TableShape, before: TableRecord | None) -> TableRecord:
        """Note when it began. The stream is enabled if there is none, unless the copy `before` has done so."""
        self._book.open()
        self._book.forget(shape.name)
        segments = max(1, min(MOST_SEGMENTS, shape.bytes // SEGMENT_BYTES))
        began = datetime.now(UTC).timestamp()
        record = TableRecord(shape.identity, self._options.selection.fingerprint, began, segments)
        if self._options.follows:
            if not self._source.capabilities().streams:
                raise CopyRefused(
                    f"{self._source.capabilities().store} has no streams; with --no-stream, changes that are made "
                    "during the copy are missed"
                )
            was_ours = before is not None and before.source == shape.identity and before.stream_is_ours
            record.stream_is_ours = shape.view_type is None or was_ours
            # Noted before it is enabled, so that it is disabled in the end whatever happens.
            self._book.save_table(shape.name, record)
            if shape.view_type is None:
                enable_stream(self._source, shape.name, VIEW)
            described = self._source.describe_table(TableName=shape.name)["Table"]
            record.stream = described["LatestStreamArn"]
        self._book.save_table(shape.name, record)
        return record

    def _check_continued(self, shape: TableShape, record: TableRecord) -> None:
        name = shape.name
        if record.status == MOVED:
            self._require_unmoved(shape)
        if record.source != shape.identity:
            raise CopyRefused(f"table {name} of the target is a copy of another table; drop it there to copy this one")
        if record.selection != self._options.selection.fingerprint:
            raise CopyRefused(
                f"the copy of table {name} was begun with another --where, --anonymise or --anonymise-key; give the "
                "same, or drop the table in the target"
            )
        if (record.stream is not None) != self._options.follows:
            was = "with its stream" if record.stream is not None else "with --no-stream"
            raise CopyRefused(f"the copy of table {name} was begun {was}; continue so, or drop it in the target")
        if record.is_done and record.stream_is_ours:
            raise CopyRefused(
                f"the copy of table {name} is complete, and the stream that it needed is off again; drop the table in "
                "the target to copy it anew"
            )

    # rows

    def _copy_rows(self, copy: _TableCopy) -> None:
        name, record = copy.shape.name, copy.record
        if record.status != SCANNING:
            return
        segments = self._book.segments(name, record.segments)
        done = sum(each.rows for each in segments)
        counted = threading.Lock()
        show = self._progress.part(name, "rows")
        show(done, max(copy.shape.rows, done))

        def scan(number: int) -> None:
            nonlocal done
            state = segments[number]
            if state.is_done:
                return
            for page in pages(self._source, name, number, record.segments, state.start):
                self._check()
                formed = [row for row in map(copy.form.of, page.rows) if row is not None]
                self._writer.put(name, formed, copy.form)
                state = state.moved_to(len(page.rows), page.last)
                self._book.save_segment(name, number, state)
                with counted:
                    done += len(page.rows)
                    if page.rows:
                        show(done, max(copy.shape.rows, done + 1))

        with ThreadPoolExecutor(SEGMENTS_AT_ONCE, "sortkey-copy-scan") as pool:
            scans = [pool.submit(scan, number) for number in range(record.segments)]
            for failed in wait(scans, return_when=FIRST_EXCEPTION).done:
                if failed.exception() is not None:
                    self._halted.set()
                    failed.result()
        show(done, done)
        record.status = FOLLOWING
        self._book.save_table(name, record)

    # changes

    @contextmanager
    def _following(self, ready: list[_TableCopy]) -> Iterator[None]:
        """Apply the changes of tables whose rows are copied, on a thread."""

        def follow() -> None:
            while not (self._halted.is_set() or self._stopping.is_set()):
                try:
                    found = sum(copy.tail.step() for copy in list(ready) if copy.tail is not None)
                except Stopped:
                    return
                except Exception as error:  # noqa: BLE001  it is raised by the copy, at its next step
                    self._failure = error
                    return
                if not found:
                    self._halted.wait(PAUSE_SECONDS)

        thread = threading.Thread(target=follow, name="sortkey-copy-follow")
        thread.start()
        try:
            yield
            self._check()
        finally:
            self._halted.set()
            thread.join()
            for copy in ready:
                if copy.tail is not None and self._failure is None:
                    copy.tail.save()

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure
        if self._stopping.is_set() or self._halted.is_set():
            raise Stopped

    # equality

    def _compared(self, copies: Sequence[_TableCopy]) -> tuple[int, list[Difference]]:
        rows = 0
        differences: list[Difference] = []
        for copy in copies:
            found, different = self._compare(copy)
            rows += found
            differences += different
        return rows, differences

    def _compare(self, copy: _TableCopy) -> tuple[int, list[Difference]]:
        name = copy.shape.name
        comparison = Comparison(self._source, self._target, name, copy.form, copy.shape.rows)
        show = self._progress.part(f"{name}: comparing", "rows")
        seen, counted = 0, threading.Lock()
        total = 2 * max(copy.shape.rows, 1)

        def on_rows(rows: int) -> None:
            nonlocal seen
            self._check()
            with counted:
                seen += rows
                if rows:
                    show(seen, max(total, seen + 1))

        self._drain(copy)
        copy.pending.clear()
        suspects = comparison.suspects(on_rows)
        show(seen, seen)
        settled: list[Difference] = []
        for _ in range(FEW_ROUNDS if copy.tail is None else ROUNDS):
            if not suspects:
                break
            self._check()
            self._drain(copy)
            differences = {fingerprint(each.key): each for each in comparison.differences(suspects)}
            touched = self._drain(copy)
            settled = [each for identity, each in differences.items() if identity not in touched]
            suspects = set(differences)
            self._stopping.wait(PAUSE_SECONDS)
        # Rows that change all the time are compared when nobody may write.
        copy.pending |= suspects
        return comparison.rows, settled if suspects else []

    def _drain(self, copy: _TableCopy) -> set[bytes]:
        """Apply what there is; returns the keys that were changed since the last time. They are to be compared."""
        if copy.tail is None:
            return set()
        copy.tail.drain()
        touched = copy.tail.take_touched()
        copy.pending |= touched
        return touched

    def _settle(self, copies: Sequence[_TableCopy]) -> list[Difference]:
        """Apply what there is, and compare the rows that were changed since they were last found equal."""
        found: list[Difference] = []
        for copy in copies:
            self._drain(copy)
            comparison = Comparison(self._source, self._target, copy.shape.name, copy.form, 0)
            differences = comparison.differences(copy.pending)
            copy.pending = {fingerprint(each.key) for each in differences}
            found += differences
        return found

    def _cut_over(self, copies: Sequence[_TableCopy], to: str) -> float:
        """Returns how long writers were fenced, in seconds."""
        fences = fences_of(self._source)
        shapes = [copy.shape for copy in copies]
        fences.announce(shapes, self._stopping)
        for _ in range(ROUNDS):
            began = monotonic()
            self._settle(copies)
            self._check()
            if monotonic() - began < SHORT_ROUND_SECONDS:
                break
        began = monotonic()
        try:
            fences.close(shapes)
            self._require_equal(copies)
            for copy in copies:
                self._enable_stream(copy)
                copy.record.status = MOVED
                self._book.save_table(copy.shape.name, copy.record)
            if monotonic() - began > FENCE_SECONDS / 2:
                raise CopyFailed("the cut-over took too long, so the fence was lifted; run the command again")
            fences.move(shapes, to)
        except BaseException:
            fences.lift(shapes)
            raise
        fenced = monotonic() - began
        # A write that was under way when the fence was raised in a store that does not know it, or after it fell.
        late = sum(copy.tail.applied for copy in copies if copy.tail is not None)
        self._require_equal(copies)
        late = sum(copy.tail.applied for copy in copies if copy.tail is not None) - late
        if late:
            self._progress.note(f"{late:,} writes came after the fence; they were applied")
        for copy in copies:
            if copy.record.stream_is_ours:
                disable_stream(self._source, copy.shape.name)
            self._book.forget(copy.shape.name)
        return fenced

    def _require_equal(self, copies: Sequence[_TableCopy]) -> None:
        differences = self._settle(copies)
        if differences:
            shown = "; ".join(map(str, differences[:SHOWN]))
            raise CopyFailed(f"{len(differences):,} rows differ although nobody writes: {shown}")

    # the end

    def _end(self, copies: Sequence[_TableCopy]) -> None:
        """The copy is complete, or differs; streams are left as they were found."""
        for copy in copies:
            if copy.record.stream_is_ours:
                disable_stream(self._source, copy.shape.name)
            self._enable_stream(copy)
            copy.record.is_done = True
            self._book.save_table(copy.shape.name, copy.record)

    def _enable_stream(self, copy: _TableCopy) -> None:
        view = copy.shape.view_type
        if view is None or copy.record.stream_is_ours or not self._target.capabilities().streams:
            return
        described = self._target.describe_table(TableName=copy.shape.name)["Table"]
        if not described.get("StreamSpecification", {}).get("StreamEnabled"):
            enable_stream(self._target, copy.shape.name, view)


def _is_same(shape: TableShape, existing: Mapping[str, Any]) -> bool:
    return shape.identity == shape._replace(description=existing).identity

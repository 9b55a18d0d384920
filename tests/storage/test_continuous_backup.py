"""Copies at an interval: when they come, what a failure does, and how they end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sortkey.clock import ManualClock
from sortkey.object_storage import ObjectError
from sortkey.storage import StorageError
from sortkey.storage.backup import Progress
from sortkey.storage.continuous_backup import FAMILIES, ContinuousBackup
from sortkey.storage.copy_places import CopyPlace, copy_place, make_copy
from tests.object_storage import Bucket
from tests.storage.byte_store import open_store, put

NOON = 1_787_572_800.0
MINUTE = 60.0


class UntilTime:
    """Waits by moving the clock, and stops at a time."""

    def __init__(self, clock: ManualClock, end: float) -> None:
        self._clock = clock
        self._end = end
        self.now_set = False
        self.waits: list[float] = []

    def is_set(self) -> bool:
        return self.now_set

    def wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        self._clock.advance(seconds)
        return self.now_set or self._clock.now() >= self._end


@pytest.fixture
def data(tmp_path: Path) -> Path:
    store = open_store(tmp_path / "data")
    store.write(put(b"k", b"v" * 3_000_000))
    store.close()
    return tmp_path / "data"


@pytest.fixture
def place(tmp_path: Path) -> CopyPlace:
    return copy_place(str(tmp_path / "copies"))


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOON)


def times(place: CopyPlace) -> list[float]:
    return [copy.at - NOON for copy in place.copies()]


def ignore(*_: object) -> None:
    pass


def run(
    data: Path, place: CopyPlace, clock: ManualClock, seconds: float, keep: int | None = None
) -> tuple[list[str], dict[str, float]]:
    """The lines that were reported, and the samples at the end."""
    lines: list[str] = []
    stop = UntilTime(clock, clock.now() + seconds)
    made = ContinuousBackup(data, place, keep, clock, stop, lines.append)
    made.run(15 * MINUTE, ignore)
    return lines, made.samples()


def test_a_copy_comes_at_once_and_then_at_the_interval(data: Path, place: CopyPlace, clock: ManualClock) -> None:
    lines, samples = run(data, place, clock, 31 * MINUTE)
    assert times(place) == [0, 15 * MINUTE, 30 * MINUTE]
    assert lines == []
    assert samples['sortkey_backups_total{outcome="ok"}'] == 3
    assert samples["sortkey_backup_newest_timestamp_seconds"] == NOON + 30 * MINUTE
    assert samples["sortkey_backup_newest_bytes"] == place.copies()[-1].packed.size
    assert {name.partition("{")[0] for name in samples} == set(FAMILIES)


def test_only_the_newest_are_kept(data: Path, place: CopyPlace, clock: ManualClock) -> None:
    _, samples = run(data, place, clock, 61 * MINUTE, keep=2)
    assert times(place) == [45 * MINUTE, 60 * MINUTE]
    assert samples["sortkey_backup_copies"] == 2


def test_a_restart_keeps_the_rhythm(data: Path, place: CopyPlace, clock: ManualClock) -> None:
    make_copy(data, place, None, clock, ignore)
    clock.advance(10 * MINUTE)
    run(data, place, clock, 6 * MINUTE)
    assert times(place) == [0, 15 * MINUTE]


def test_after_a_long_pause_one_copy_comes_at_once(data: Path, place: CopyPlace, clock: ManualClock) -> None:
    make_copy(data, place, None, clock, ignore)
    clock.advance(100 * MINUTE)
    run(data, place, clock, MINUTE)
    assert times(place) == [0, 100 * MINUTE]


# A clock that was wrong must not stop the copies until its time has come.
def test_a_copy_from_the_future_does_not_delay_the_next(data: Path, place: CopyPlace, clock: ManualClock) -> None:
    make_copy(data, place, None, ManualClock(NOON + 1e6), ignore)
    run(data, place, clock, MINUTE)
    assert times(place) == [0, 1e6]


class FailingPlace:
    """Fails some times, then does what the other does."""

    def __init__(self, place: CopyPlace, failures: int) -> None:
        self._place = place
        self._failures = failures
        self.copies = place.copies
        self.remove = place.remove
        self.tidy = place.tidy

    def add(self, folder: Path, at: float, progress: Progress) -> int:
        if self._failures:
            self._failures -= 1
            raise StorageError("the disk is full")
        return self._place.add(folder, at, progress)


def test_a_failure_is_reported_and_tried_again_soon(data: Path, place: CopyPlace, clock: ManualClock) -> None:
    lines, samples = run(data, FailingPlace(place, 8), clock, 5 * MINUTE)
    pauses = (1, 2, 4, 8, 16, 32, 60, 60)
    assert lines == [f"the disk is full; the next attempt is in {pause} s" for pause in pauses]
    assert times(place) == [sum(pauses)]
    assert samples['sortkey_backups_total{outcome="failed"}'] == 8


# A container beside the server may start before it.
def test_a_folder_that_is_not_there_yet_is_waited_for(data: Path, place: CopyPlace, clock: ManualClock) -> None:
    lines, _ = run(data.parent / "later", place, clock, 2)
    assert len(lines) == 2
    assert lines[0].startswith(f"{data.parent / 'later'} is not a data folder of Sortkey; the next attempt")


@pytest.mark.usefixtures("bucket")
def test_a_place_that_cannot_be_read_ends_it_at_the_start(data: Path, clock: ManualClock) -> None:
    with pytest.raises(ObjectError, match="there is no such bucket"):
        run(data, copy_place("s3://absent-bucket/copies"), clock, MINUTE)


@pytest.mark.parametrize("where", ["folder", "bucket"])
def test_a_stop_in_the_middle_of_a_copy_leaves_nothing(
    where: str, data: Path, tmp_path: Path, bucket: Bucket, clock: ManualClock
) -> None:
    place = copy_place(str(tmp_path / "copies") if where == "folder" else f"s3://{bucket.name}/copies")
    stop = UntilTime(clock, NOON + 60 * MINUTE)

    class Stopping:
        """The signal comes when a block has been copied."""

        copies, remove, tidy = place.copies, place.remove, place.tidy

        def add(self, folder: Path, at: float, progress: Progress) -> int:
            return place.add(folder, at, self._stopping(progress))

        def _stopping(self, progress: Progress) -> Callable[[int, int], None]:
            def stopping(done: int, total: int) -> None:
                stop.now_set = True
                progress(done, total)

            return stopping

    ContinuousBackup(data, Stopping(), None, clock, stop, pytest.fail).run(15 * MINUTE, ignore)
    assert place.copies() == []
    assert not list(tmp_path.glob("copies/*"))
    assert "Uploads" not in bucket.server.client.list_multipart_uploads(Bucket=bucket.name)

"""Places of copies: a folder, or a prefix of object storage, with backups of one data folder, named by instants.

The instant is when the copy began, so a copy has every write that was answered before it. A copy gets its name when it
is whole: what a killed process leaves is no copy, and is removed when nobody can be writing it any more. Whatever else
is in the place is left alone.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, Protocol, cast

from sortkey.clock import Clock
from sortkey.object_storage import Address, ObjectFile, ObjectStorage, StoredObject, parse_source
from sortkey.storage.backup import UNFINISHED, Packed, Progress, back_up, packed_file, packed_snapshot
from sortkey.storage.environment import FOLDER_MODE, StorageError

SUFFIX: Final = ".gz"
_NAME: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z)\.gz")
_FORMAT: Final = "%Y-%m-%dT%H-%M-%S.%fZ"
_AT: Final = re.compile(r"(.+)@(\d{4}-\d\d-\d\d(?:[T ].*)?)", re.DOTALL)
IDLE_SECONDS: Final = 3600.0
"""An unfinished file that did not grow for so long is nobody's."""
LONGEST_UPLOAD: Final = timedelta(days=1)
READ_BYTES: Final = 8 * 1024 * 1024
"""Of an object, by one request."""


class Copy(NamedTuple):
    at: float
    """When it began, in seconds since the epoch."""
    packed: Packed


class CopyPlace(Protocol):
    """Its text is its name."""

    def copies(self) -> list[Copy]:
        """From the oldest to the newest."""

    def add(self, folder: Path, at: float, progress: Progress) -> int:
        """Copy a data folder. Returns the size of the copy."""

    def remove(self, copy: Copy) -> None: ...

    def tidy(self, now: float) -> None:
        """Remove what killed processes left unfinished."""


class CopyFolder:
    """A folder of this machine; it is made with the first copy."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __str__(self) -> str:
        return str(self._folder)

    def copies(self) -> list[Copy]:
        if not self._folder.exists():
            return []
        try:
            return _listed([(path.name, partial(packed_file, path)) for path in self._folder.iterdir()])
        except OSError as error:
            raise StorageError(f"cannot read {self._folder}: {error.strerror}") from error

    def add(self, folder: Path, at: float, progress: Progress) -> int:
        try:
            self._folder.mkdir(FOLDER_MODE, exist_ok=True)
        except OSError as error:
            raise StorageError(f"cannot make the folder {self._folder}: {error.strerror}") from error
        return back_up(folder, self._folder / name_of(at), progress)

    def remove(self, copy: Copy) -> None:
        try:
            Path(copy.packed.name).unlink(missing_ok=True)
        except OSError as error:
            raise StorageError(f"cannot remove {copy.packed.name}: {error.strerror}") from error

    def tidy(self, now: float) -> None:
        for path in self._folder.glob(f"*{SUFFIX}{UNFINISHED}"):
            if _NAME.fullmatch(path.name.removesuffix(UNFINISHED)) and path.stat().st_mtime < now - IDLE_SECONDS:
                path.unlink(missing_ok=True)


class CopyPrefix:
    """A prefix of a bucket. A copy is sent while it is made, and is never on a disk here."""

    def __init__(self, address: Address, storage: ObjectStorage) -> None:
        self._address = address.folder
        self._storage = storage

    def __str__(self) -> str:
        return str(self._address)

    def copies(self) -> list[Copy]:
        return _listed(
            [
                (name, partial(self._packed, each))
                for each in self._storage.files(self._address)
                for name in ("/".join(each.below(self._address)),)
            ]
        )

    def _packed(self, of: StoredObject) -> Packed:
        return Packed(str(of), of.size, lambda: _buffered(ObjectFile(self._storage, of)))

    def add(self, folder: Path, at: float, progress: Progress) -> int:
        with packed_snapshot(folder, progress) as packed:
            return self._storage.write(self._address.child(name_of(at)), packed)

    def remove(self, copy: Copy) -> None:
        self._storage.remove(self._address.child(name_of(copy.at)))

    def tidy(self, now: float) -> None:
        self._storage.abandon(self._address, datetime.fromtimestamp(now, UTC) - LONGEST_UPLOAD)


def _buffered(source: ObjectFile) -> BinaryIO:
    return cast(BinaryIO, io.BufferedReader(source, READ_BYTES))


def _listed(named: Sequence[tuple[str, Callable[[], Packed]]]) -> list[Copy]:
    found = ((time_of(name), packed) for name, packed in named)
    return sorted(Copy(at, packed()) for at, packed in found if at is not None)


def copy_place(text: str) -> CopyPlace:
    """What an argument names: a folder, or `s3://bucket/prefix`. Raises ObjectError."""
    source = parse_source(text)
    return CopyFolder(source) if isinstance(source, Path) else CopyPrefix(source, ObjectStorage())


def name_of(at: float) -> str:
    text = datetime.fromtimestamp(at, UTC).strftime(_FORMAT)
    return f"{text[: -len('000Z')]}Z{SUFFIX}"


def time_of(name: str) -> float | None:
    """None if it is not the name of a copy."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    try:
        return datetime.strptime(found[1], _FORMAT).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def time_text(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def place_and_time(text: str) -> tuple[str, float | None]:
    """`PLACE@TIME` in its two parts. Raises StorageError for a time without an offset, or one that is none."""
    found = _AT.fullmatch(text)
    if found is None:
        return text, None
    try:
        at = datetime.fromisoformat(found[2])
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise StorageError(f"{found[2]!r} is no time with an offset; write @2026-08-24T12:30:00Z")
    return found[1], at.timestamp()


def copy_at(place: CopyPlace, at: float | None) -> Copy:
    """The newest copy, or the newest that is not after a time. Raises StorageError if there is none."""
    copies = place.copies()
    if not copies:
        raise StorageError(f"there is no copy in {place}; sortkey backup makes them")
    if at is None:
        return copies[-1]
    before = [copy for copy in copies if copy.at <= at]
    if not before:
        oldest = time_text(copies[0].at)
        raise StorageError(f"{place} has no copy of {time_text(at)} or before: its oldest is of {oldest}")
    return before[-1]


def make_copy(folder: Path, place: CopyPlace, keep: int | None, clock: Clock, progress: Progress) -> int:
    """Copy a data folder, then remove all but the newest copies, if so many are to be kept. Returns the copy's size."""
    size = place.add(folder, clock.now(), progress)
    if keep is not None:
        for copy in place.copies()[:-keep]:
            place.remove(copy)
    place.tidy(clock.now())
    return size

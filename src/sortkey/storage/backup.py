"""A backup: one snapshot of a data folder in a file or an object, and the folder that is made of it again.

The file is LMDB's compact copy of one snapshot, compressed by gzip: `gunzip` makes a `data.mdb` of it, without Sortkey.
gzip's checksum and length tell a file that is damaged or cut from a whole one. Writers go on meanwhile; LMDB keeps the
snapshot's pages until the copy ends, so the folder grows by what is written in that time.

A backup has the pages of its folder, of which random writes leave a third free. A restored folder has full ones
(`environment.copy_packed`).

A file and a folder get their names only when they are whole and on disk. What a killed command leaves is an unfinished
file beside the place, which the next command for the same place removes.
"""

from __future__ import annotations

import gzip
import os
import threading
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from shutil import rmtree
from typing import BinaryIO, Final, NamedTuple

import lmdb

from sortkey.storage.environment import (
    DAMAGED_PAGE,
    FILE_MODE,
    FOLDER_MODE,
    StorageError,
    Transaction,
    copy_packed,
    damaged_folder,
    open_existing,
    sync_names,
)
from sortkey.storage.gradual_check import DATA_FILE
from sortkey.storage.store import begin_snapshot

Progress = Callable[[int, int], None]
"""Called with the number of bytes done, and of all; the latter is 0 if it is not known."""

CHUNK_BYTES: Final = 1 << 20
GZIP: Final = 16 + zlib.MAX_WBITS
COMPRESSION: Final = 1
"""gzip's quickest level. Level 6 makes a file that is 19 % smaller, and takes 2.4 times as long (300,000 orders)."""
META_PAGES: Final = 2
UNFINISHED: Final = ".unfinished"


class Packed(NamedTuple):
    """A backup that can be read, wherever it is."""

    name: str
    size: int
    open: Callable[[], BinaryIO]


def packed_file(file: Path) -> Packed:
    """Raises OSError if there is none."""
    return Packed(str(file), file.stat().st_size, lambda: file.open("rb"))


def back_up(folder: Path, file: Path, progress: Progress, *, replace: bool = False) -> int:
    """Copy the newest snapshot of a folder, which may be in use, to a file. Returns the size of the file.

    Every page is checked first, and the file is read again at the end. Raises StorageError, and makes no file, if the
    folder is damaged, or the file is there and is not to be replaced.
    """
    if file.is_dir():
        raise StorageError(f"{file} is a folder; name the file that the backup is written to")
    if file.exists() and not replace:
        raise StorageError(f"{file} is there already; name another file, or replace it with --replace")
    with packed_snapshot(folder, progress) as packed, _new_file(file) as (unfinished, opened):
        for block in packed:
            opened.write(block)
        opened.flush()
        os.fsync(opened.fileno())
        _require_same(unfinished, packed.checksum)
        size = unfinished.stat().st_size
        unfinished.replace(file)
    sync_names(file.absolute().parent)
    return size


@contextmanager
def packed_snapshot(folder: Path, progress: Progress) -> Iterator[PackedSnapshot]:
    """The newest snapshot of a folder, which may be in use, as a backup's bytes. Every page is checked first."""
    environment = open_existing(folder, check_pages=True)
    try:
        snapshot, _ = begin_snapshot(environment.begin)
        with snapshot, closing(PackedSnapshot(environment, snapshot, progress)) as packed:
            yield packed
    except DAMAGED_PAGE as error:
        raise damaged_folder(folder, str(error)) from error
    finally:
        environment.close()


class PackedSnapshot:
    """Compressed blocks, once. The last comes when LMDB has copied everything without an error."""

    def __init__(self, environment: lmdb.Environment, snapshot: Transaction, progress: Progress) -> None:
        self.checksum = 0, 0
        """Of what was copied, and its length, when all blocks are taken."""
        self._blocks = self._pack(environment, snapshot, progress)

    def __iter__(self) -> Iterator[bytes]:
        return self._blocks

    def close(self) -> None:
        self._blocks.close()

    def _pack(
        self, environment: lmdb.Environment, snapshot: Transaction, progress: Progress
    ) -> Generator[bytes, None, None]:
        packer = zlib.compressobj(COMPRESSION, zlib.DEFLATED, GZIP)
        total, checksum, done = _size_of(environment, snapshot), 0, 0
        with _copied(environment, snapshot) as copied:
            while chunk := copied.read(CHUNK_BYTES):
                if block := packer.compress(chunk):
                    yield block
                checksum = zlib.crc32(chunk, checksum)
                done += len(chunk)
                progress(done, max(total, done))
        self.checksum = checksum, done
        yield packer.flush()


def restore(source: Path | Packed, folder: Path, check: Callable[[Path], None], progress: Progress) -> None:
    """Make a data folder of a backup. The folder must be new or empty.

    `check` is called with the folder's data at another place, before it gets its name; what it raises leaves nothing.
    It must raise if LMDB cannot read the pages. The folder's own pages are full, if the disk has room for a second copy
    meanwhile; then it has a third less of them than the backup.
    """
    unfinished = folder / f"restored{UNFINISHED}"
    try:
        _require_new(folder, unfinished)
        rmtree(unfinished, ignore_errors=True)
        is_new = not folder.exists()
        unfinished.mkdir(FOLDER_MODE, parents=True)
        try:
            folder.chmod(FOLDER_MODE)
            packed = packed_file(source) if isinstance(source, Path) else source
            _unpack(packed, unfinished / DATA_FILE, progress)
            check(unfinished)
            made = _packed_pages(unfinished) if _has_room_for_another(unfinished) else unfinished
            # Unlike a rename, it fails if a process has made a database here meanwhile.
            os.link(made / DATA_FILE, folder / DATA_FILE)
        finally:
            rmtree(unfinished, ignore_errors=True)
            if is_new and not any(folder.iterdir()):
                folder.rmdir()
        for entry in (folder, folder.absolute().parent):
            sync_names(entry)
    except FileExistsError as error:
        raise StorageError(f"another process has made a database in {folder} meanwhile; stop it first") from error
    except OSError as error:
        name = source if isinstance(source, Path) else source.name
        raise StorageError(f"cannot restore {name} to {folder}: {error.strerror or error}") from error


def _has_room_for_another(folder: Path) -> bool:
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize > (folder / DATA_FILE).stat().st_size


def _packed_pages(folder: Path) -> Path:
    """A folder inside this one, with the same records on full pages."""
    made = folder / "packed"
    copy_packed(folder, made)
    return made


def _size_of(environment: lmdb.Environment, snapshot: Transaction) -> int:
    found = snapshot.stat(environment.open_db(None, snapshot))
    pages = found["branch_pages"] + found["leaf_pages"] + found["overflow_pages"] + META_PAGES
    return int(pages * found["psize"])


@contextmanager
def _copied(environment: lmdb.Environment, snapshot: Transaction) -> Iterator[BinaryIO]:
    """What LMDB writes in another thread: a pipe's other end."""
    source, sink = os.pipe()
    errors: list[lmdb.Error] = []

    def copy() -> None:
        try:
            environment.copyfd(sink, compact=True, txn=snapshot)
        except lmdb.Error as error:
            errors.append(error)
        finally:
            os.close(sink)

    copying = threading.Thread(target=copy, name="sortkey-backup")
    copying.start()
    try:
        # Closed before the thread is waited for: one that still writes then ends with an error.
        with os.fdopen(source, "rb") as opened:
            yield opened
    finally:
        copying.join()
    if errors:
        raise errors[0]


@contextmanager
def _new_file(file: Path) -> Iterator[tuple[Path, BinaryIO]]:
    """A file beside the one that it becomes. Nothing of it stays if the block fails."""
    unfinished = file.with_name(f"{file.name}{UNFINISHED}")
    try:
        unfinished.unlink(missing_ok=True)
        with os.fdopen(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE), "wb") as opened:
            try:
                yield unfinished, opened
            except BaseException:
                unfinished.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise StorageError(f"cannot write {file}: {error.strerror or error}") from error


def _require_same(written: Path, expected: tuple[int, int]) -> None:
    """Raise StorageError if the file does not hold what was copied."""
    checksum, length = 0, 0
    for chunk in _unpacked(packed_file(written)):
        checksum = zlib.crc32(chunk, checksum)
        length += len(chunk)
    if (checksum, length) != expected:
        raise StorageError(f"cannot write {written}: it was read back otherwise than it was written; check the disk")


def _unpacked(packed: Packed, progress: Progress = lambda *_: None) -> Iterator[bytes]:
    if not packed.size:
        raise StorageError(f"{packed.name} is not a whole backup: it is empty")
    try:
        with packed.open() as source, gzip.open(source) as opened:
            while chunk := opened.read(CHUNK_BYTES):
                yield chunk
                progress(source.tell(), packed.size)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise StorageError(f"{packed.name} is not a whole backup: {error}") from error


def _unpack(packed: Packed, data: Path, progress: Progress) -> None:
    with os.fdopen(os.open(data, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE), "wb") as opened:
        for chunk in _unpacked(packed, progress):
            opened.write(chunk)
        opened.flush()
        os.fsync(opened.fileno())


def _require_new(folder: Path, unfinished: Path) -> None:
    if not folder.exists():
        return
    if not folder.is_dir():
        raise StorageError(f"{folder} is not a folder; name a new or empty one")
    if any(entry != unfinished for entry in folder.iterdir()):
        raise StorageError(f"{folder} is not empty; name a new folder, or move this one away first")

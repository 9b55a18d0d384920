"""The LMDB environment of a data folder: checked, opened, stamped with a format version, closed.

Everything is in LMDB's one unnamed database, an ordered map from bytes to bytes. The first four bytes of a key are its
*space*; space 0 belongs to the storage layer and the catalog:

    00000000 "format"          → the format version, as decimal text; an older one is replaced (`OLDER_FORMATS`)

A folder without a file is new. A file that is empty, damaged or not ours is an error, and stays as it is.

The map is far larger than any disk (`MAP_BYTES`). LMDB reserves address space for it, neither memory nor disk: the file
grows as pages are used, so the only limit in practice is the disk.

A program may have many stores in memory, and all of them share the process's address space. So their maps start small.
LMDB can enlarge a map only while no snapshot is open; instead, a full environment is copied to a larger one, which
takes its place. Snapshots of the old one stay valid, and it goes with the last of them.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from functools import wraps
from itertools import islice
from pathlib import Path
from time import sleep
from typing import Concatenate, Final, ParamSpec, TypeAlias, TypeVar

import lmdb

from sortkey.storage import gradual_check
from sortkey.storage.gradual_check import DATA_FILE, GradualCheck
from sortkey.storage.pages import Damage
from sortkey.storage.write_lock import WriteLock

Parameters = ParamSpec("Parameters")
Opened = TypeVar("Opened")
Transaction: TypeAlias = "lmdb.Transaction[bytes]"
"""A snapshot, or the one write transaction."""
Cursor: TypeAlias = "lmdb.Cursor[bytes]"
DAMAGED_PAGE: Final = (
    lmdb.BadChecksumError,
    lmdb.CorruptedError,
    lmdb.CursorFullError,
    lmdb.IncompatibleError,
    lmdb.InvalidError,
    lmdb.PageFullError,
    lmdb.PageNotFoundError,
    lmdb.ProblemError,
)
"""What LMDB raises where it notices that a page is damaged. It aborts what it was asked to do."""
FORMAT: Final = b"3"
OLDER_FORMATS: Final = frozenset({b"2"})
"""Read as they are. Versions that write them know no local index in the order of the table's sort key, no earlier
states and no vectors, and would leave wrong rows: so a folder gets the present format when it is opened to be
written."""
FORMAT_KEY: Final = b"\0\0\0\0format"
FIRST_COMMIT: Final = 1
MAP_BYTES: Final = 1 << 44
SMALLEST_MAP_BYTES: Final = 1 << 29
HEAP_BYTES: Final = 512 << 20
"""Of a limited address space, what the map leaves to the rest of the process, if it can."""
MEMORY_MAP_BYTES: Final = 16 << 30
"""More than most stores in memory need, so that few are copied; 8,192 of them fit into 47 bits."""
SMALLEST_MEMORY_MAP_BYTES: Final = 16 << 20
"""The first map where the address space is limited."""
MEMORY_GROWTH: Final = 4
"""Copies to four times the size cost less, all together, than a third of the writes before them."""
READERS: Final = 2048
"""The most snapshots open at once, over all processes."""
SPARE_READERS: Final = 64
"""Read transactions kept for reuse. Beginning a new one takes three times as long."""
CHECKED_BYTES: Final = 32 << 20
"""The pages of a file of at most this size are all checked when it is opened, which takes a fifth of a second.

Those of a larger one are checked as they are read, and in the background (`gradual_check`)."""
PACKED_RECORDS: Final = 10_000
"""Of a commit of `copy_packed`."""
CREATION_SECONDS: Final = 0.5
"""How long a file may be empty while another process creates it."""
CREATION_STEPS: Final = 50
FOLDER_MODE: Final = 0o700
FILE_MODE: Final = 0o600
"""The data is its owner's, whatever the umask is."""
MEMORY_FOLDER: Final = Path("/dev/shm")
_STATM: Final = Path("/proc/self/statm")
LOCK_FILE: Final = "lock.mdb"
_READER_BYTES: Final = 64
_HEADER_BYTES: Final = 128
_FIRST_BYTES: Final = 64 << 10
"""More than LMDB writes to its other file when it creates it. Half a file would be taken for a damaged one."""
_BLOCK_BYTES: Final = 512
"""In which `stat` counts."""
_NO_SPACE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class StorageError(Exception):
    """The data folder cannot be used; the message names it and the cause."""


class DamagedFolder(StorageError):
    """The data folder does not hold what was written to it."""


class IncompatibleFormat(StorageError):
    """The data folder was written by another version."""


def _naming_folder(
    open_: Callable[Concatenate[Path, Parameters], Opened],
) -> Callable[Concatenate[Path, Parameters], Opened]:
    """What the system rejects, for lack of rights or of space, becomes a StorageError."""

    @wraps(open_)
    def open_or_name(path: Path, /, *args: Parameters.args, **named: Parameters.kwargs) -> Opened:
        try:
            return open_(path, *args, **named)
        except (FileExistsError, NotADirectoryError) as error:
            raise StorageError(f"cannot use {path} as a data folder: it is not a folder") from error
        except OSError as error:
            raise StorageError(f"cannot use {path} as a data folder: {error.strerror}") from error

    return open_or_name


@_naming_folder
def open_folder(path: Path) -> tuple[lmdb.Environment, WriteLock, GradualCheck | None]:
    """Open a durable environment: a commit returns when it is on disk. Whoever writes must hold the lock.

    With a check, nothing may be read that it has not allowed (`GradualCheck.require`).
    """
    path.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
    _reject_empty(path)
    environment = _open(path, sync=True)
    lock: WriteLock | None = None
    check: GradualCheck | None = None
    try:
        lock = WriteLock(path)
        check = gradual_check.check_writable(environment, lock, path, CHECKED_BYTES, FORMAT_KEY)
        if check is not None:
            check.require(FORMAT_KEY)
        # A killed process leaves its snapshots behind, and LMDB does not reuse the pages that they see.
        environment.reader_check()
        if _check_format(environment, path, lock):
            _sync_directory_entries(path)
    except BaseException as error:
        if check is not None:
            check.close()
        if lock is not None:
            lock.close()
        environment.close()
        if isinstance(error, Damage):
            raise damaged_folder(path, str(error)) from error
        if isinstance(error, lmdb.Error):
            raise StorageError(f"cannot use the data folder {path}: {error}") from error
        raise
    return environment, lock, check


@_naming_folder
def open_existing(path: Path, *, lock: bool = True, check_pages: bool = False) -> lmdb.Environment:
    """Open a folder read-only; raises StorageError if it is not a data folder.

    Creates nothing, except a lock file that is missing in a data folder of Sortkey. Without `lock` not even that, but
    then nothing protects the snapshots from a process that writes. With `check_pages`, all pages are checked before
    LMDB reads any of a tree, as are those of a file that was cut: reading a mapped page behind the end of a file kills
    the process (SIGBUS).
    """
    if not (path / DATA_FILE).is_file():
        raise StorageError(f"{path} is not a data folder of Sortkey")
    _reject_empty(path)
    if lock:
        _require_own(path)
    environment = _open(path, sync=True, readonly=True, lock=lock)
    try:
        if check_pages or _is_short(environment, path):
            gradual_check.check_read_only(environment, path)
        _require_stamp(environment, path)
    except Damage as damage:
        environment.close()
        raise damaged_folder(path, str(damage)) from damage
    except BaseException:
        environment.close()
        raise
    return environment


def _require_own(path: Path) -> None:
    """Raise StorageError for a database of another program, before LMDB makes or changes a lock file beside it."""
    environment = _open(path, sync=True, readonly=True, lock=False)
    try:
        # Without a lock file, no process has the folder open. With one, a snapshot would need it.
        if not (path / LOCK_FILE).exists() and not _is_short(environment, path):
            _require_stamp(environment, path)
    finally:
        environment.close()


def _require_stamp(environment: lmdb.Environment, path: Path) -> None:
    with environment.begin() as snapshot:
        found = snapshot.get(FORMAT_KEY)
    if found is None:
        raise _foreign(path)
    _require_format(found, path)


def _is_short(environment: lmdb.Environment, path: Path) -> bool:
    """Whether the file ends before its last page: it was cut, or that page is free and was never written."""
    pages = int(environment.info()["last_pgno"]) + 1
    return (path / DATA_FILE).stat().st_size < pages * int(environment.stat()["psize"])


@_naming_folder
def copy_packed(source: Path, target: Path) -> None:
    """Make a data folder with all records of another one, whose pages are sound; no process has either open.

    The pages of the new one are full, because its records come in the order of their keys: writes in random order leave
    a third of each page free. It is on disk when this returns.
    """
    size = (source / DATA_FILE).stat().st_size
    target.mkdir(FOLDER_MODE)
    with (
        closing(_open(source, sync=True, readonly=True, lock=False)) as old,
        closing(_open(target, sync=False, lock=False, smallest=max(SMALLEST_MAP_BYTES, size))) as new,
        old.begin() as snapshot,
    ):
        records = iter(snapshot.cursor())
        try:
            while _append(new, islice(records, PACKED_RECORDS)) == PACKED_RECORDS:
                pass
            new.sync(True)
        except lmdb.Error as error:
            raise StorageError(f"cannot write {target}: {error}") from error


def _append(environment: lmdb.Environment, records: Iterable[tuple[bytes, bytes]]) -> int:
    """Write records whose keys follow all others, in one commit; returns how many there were."""
    with environment.begin(write=True) as transaction:
        taken, _ = transaction.cursor().putmulti(records, append=True)
    return taken


def open_memory() -> lmdb.Environment:
    """Open an environment without syncing, on unlinked files, so that a crash cannot leave them behind."""
    limited = _address_space_limit() is not None
    size = SMALLEST_MEMORY_MAP_BYTES if limited else MEMORY_MAP_BYTES
    with _memory_folder() as folder:
        environment = _open(folder, sync=False, size=size, smallest=SMALLEST_MEMORY_MAP_BYTES)
        _check_format(environment, folder, contextlib.nullcontext())
    return environment


def enlarge_memory(full: lmdb.Environment) -> lmdb.Environment:
    """A copy of the environment with more room. Nothing must be written to the old one any more."""
    size = int(full.info()["map_size"])
    with _memory_folder() as folder:
        full.copy(str(folder))
        return _open(folder, sync=False, size=size * MEMORY_GROWTH, smallest=size * 2)


@contextmanager
def _memory_folder() -> Iterator[Path]:
    """A folder for the files of an environment, which stay when they are open and it is removed."""
    parent = MEMORY_FOLDER if os.access(MEMORY_FOLDER, os.W_OK) else Path(tempfile.gettempdir())
    try:
        folder = Path(tempfile.mkdtemp(prefix="sortkey-", dir=parent))
        try:
            yield folder
        finally:
            shutil.rmtree(folder)
    except (OSError, lmdb.Error) as error:
        raise StorageError(f"cannot keep data in memory, which is under {parent}: {error}") from error


def _address_space_limit() -> int | None:
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit


def address_space_left() -> int | None:
    """How many bytes the process may still map; None if there is no limit, or the system does not tell."""
    limit = _address_space_limit()
    if limit is None:
        return None
    try:
        pages = int(_STATM.read_bytes().split()[0])
    except OSError:
        return None
    return limit - pages * resource.getpagesize()


def _size_that_leaves_room(path: Path, size: int, smallest: int) -> int:
    """A size for the map, so that the process has memory for its requests, and the data may double."""
    left = address_space_left()
    if left is not None:
        with contextlib.suppress(OSError):
            smallest = max(smallest, 2 * (path / DATA_FILE).stat().st_size)
        while size > left - HEAP_BYTES and size // 2 >= smallest:
            size //= 2
    return size


def _no_address_space(path: Path, size: int) -> StorageError:
    limit = _address_space_limit()
    known = "" if limit is None else f" (ulimit -v {limit >> 10})"
    return StorageError(
        f"cannot map {path}: the process's address space is too small{known} for {size:,} more bytes; "
        f"close stores that are not in use, or raise the limit"
    )


def _open(
    path: Path,
    *,
    sync: bool,
    readonly: bool = False,
    lock: bool = True,
    size: int = MAP_BYTES,
    smallest: int = SMALLEST_MAP_BYTES,
) -> lmdb.Environment:
    if lock:
        _reserve_lock_file(path, READERS)
    size = _size_that_leaves_room(path, size, smallest)
    while True:
        try:
            # lib_version=1: LMDB 1.0 takes keys of 1,978 bytes, 0.9 only 511.
            return lmdb.open(
                str(path),
                mode=FILE_MODE,
                map_size=size,
                lib_version=1,
                max_readers=READERS,
                max_spare_txns=SPARE_READERS,
                readahead=False,
                sync=sync,
                metasync=sync,
                readonly=readonly,
                create=not readonly,
                lock=lock,
            )
        except (lmdb.InvalidError, lmdb.VersionMismatchError) as error:
            raise IncompatibleFormat(f"{path} holds a database that this version of Sortkey cannot read") from error
        except lmdb.MemoryError as error:
            # An address space limit (ulimit -v) rejects the large map; a smaller one may fit.
            if size // 2 < smallest:
                raise _no_address_space(path, size) from error
            size //= 2
        except DAMAGED_PAGE as error:
            raise damaged_folder(path, str(error)) from error
        except lmdb.Error as error:
            if os.strerror(errno.EAGAIN) in str(error):
                # A reader's place in the lock file is that of its process id.
                raise StorageError(
                    f"cannot open the data folder {path}: a process of another container, with the same process id "
                    f"{os.getpid()}, has it open; let the containers share their process ids"
                ) from error
            raise StorageError(f"cannot open the data folder {path}: {error}") from error


def damaged_folder(path: Path, what: str) -> DamagedFolder:
    return DamagedFolder(f"the data folder {path} is damaged: {what}; restore a backup of it")


def _foreign(path: Path) -> StorageError:
    return StorageError(f"{path} holds a database, but not one of Sortkey")


def _reject_empty(path: Path) -> None:
    """LMDB would make a new database of an empty file."""
    file = path / DATA_FILE
    for _ in range(CREATION_STEPS):
        if not file.exists() or file.stat().st_size:
            return
        sleep(CREATION_SECONDS / CREATION_STEPS)
    raise damaged_folder(path, f"{file} is empty")


def _check_format(environment: lmdb.Environment, path: Path, lock: AbstractContextManager[None]) -> bool:
    """Stamp a new or an older environment, or check the stamp; returns whether it was new."""
    with environment.begin() as snapshot:
        before = snapshot.get(FORMAT_KEY)
    if before is not None:
        _require_format(before, path)
    if before == FORMAT:
        return False
    with lock, environment.begin(write=True) as transaction:
        # Another process may have stamped it first. A new environment has no commits.
        found = transaction.get(FORMAT_KEY)
        if found is None and transaction.id() != FIRST_COMMIT:
            raise _foreign(path)
        if found is None or found in OLDER_FORMATS:
            transaction.put(FORMAT_KEY, FORMAT)
        else:
            _require_format(found, path)
    return before is None


def _sync_directory_entries(path: Path) -> None:
    """LMDB syncs what it writes, but not the names of the files it creates. Without those, a crash loses everything."""
    for folder in (path, path.absolute().parent):
        sync_names(folder)


def sync_names(path: Path) -> None:
    """Return when the names in a folder are on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _require_format(found: bytes, path: Path) -> None:
    if found != FORMAT and found not in OLDER_FORMATS:
        raise IncompatibleFormat(
            f"{path} has data format {found.decode(errors='replace')}, this version of Sortkey reads format "
            f"{FORMAT.decode()}: open it with the version that wrote it"
        )


def _reserve_lock_file(folder: Path, readers: int) -> None:
    """Make the file of LMDB's locks and readers, with all of its space, if it is missing. Raises OSError if the disk
    has no space for it.

    LMDB makes the file without content and writes to it through a map, page by page as readers come. Where such a page
    finds no space on the disk, the system kills the process (SIGBUS). So the file is made here first, full of zeros,
    and a lack of space is an error. LMDB accepts a file that it finds, and initialises it.

    The file is made under another name and then linked. It must not be opened once it is there: closing it would
    release the locks that LMDB holds in this process.

    Other errors are left to LMDB, which may do without the file, for example on a read-only disk.
    """
    file = folder / LOCK_FILE
    try:
        if file.exists():
            _check_space(file)
        else:
            _make_lock_file(file, _HEADER_BYTES + readers * _READER_BYTES)
    except OSError as error:
        if error.errno in _NO_SPACE:
            raise


def _check_space(file: Path) -> None:
    """A file of another program, or one that was copied without its zeros, may lack pages."""
    found, disk = file.stat(), os.statvfs(file)
    if found.st_blocks * _BLOCK_BYTES < found.st_size and disk.f_bavail * disk.f_frsize < found.st_size:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _make_lock_file(file: Path, size: int) -> None:
    other = file.with_name(f"{LOCK_FILE}.{secrets.token_hex(4)}")
    handle = os.open(other, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE)
    try:
        try:
            _write_zeros(handle, size + _FIRST_BYTES)
            os.ftruncate(handle, size)
        finally:
            os.close(handle)
        # Another process may have made it meanwhile.
        with contextlib.suppress(FileExistsError):
            os.link(other, file)
    finally:
        other.unlink()


def _write_zeros(handle: int, size: int) -> None:
    """A write may end where the disk does; the next one raises OSError."""
    while size:
        size -= os.write(handle, bytes(size))

"""Whether a data folder is fit: who may use it, what it holds, who has it open, and the file system and disk below it.

Nothing is changed. The one file that is written, to measure how long a sync takes, has no name where the system allows
that, and is gone when it is closed.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from sortkey.clock import Clock, monotonic
from sortkey.diagnosis.finding import Finding, bytes_text, fail, ok, seconds_text, warn
from sortkey.storage import FolderState, IncompatibleFormat, Reader, StorageError, Unreadable, inspect

MOUNTS: Final = Path("/proc/self/mounts")
_ESCAPED: Final = re.compile(r"\\([0-7]{3})")
_MEMORY: Final = frozenset({"tmpfs", "ramfs"})
_LAYERED: Final = frozenset({"overlay", "aufs"})
_REMOTE: Final = frozenset(
    {"9p", "afs", "ceph", "cifs", "glusterfs", "lustre", "nfs", "nfs4", "smb3", "smbfs", "virtiofs"}
)
_UNSAFE_OPTIONS: Final = frozenset({"nobarrier", "barrier=0"})
LEAST_FREE_BYTES: Final = 100 << 20
LITTLE_FREE_BYTES: Final = 1 << 30
LITTLE_FREE_SHARE: Final = 0.05
SYNCS: Final = 16
SYNC_SECONDS: Final = 2.0
"""A slow disk is measured fewer times."""
SLOW_SYNC_SECONDS: Final = 0.010
FEIGNED_SYNC_SECONDS: Final = 0.000_005
"""No disk is this quick."""
PAGE: Final = bytes(4096)
LONG_SNAPSHOT_COMMITS: Final = 10_000
FULL_SLOTS: Final = 0.8
_sync: Final = getattr(os, "fdatasync", os.fsync)
"""As LMDB does it."""


def examine_folder(folder: Path, clock: Clock) -> list[Finding]:
    access = examine_access(folder)
    if access is not None:
        # A file system that is mounted read-only is one cause.
        return [access, examine_file_system(folder)] if os.path.isdir(folder) else [access]
    disk = [examine_file_system(folder), examine_space(folder), examine_sync(folder)]
    return [*examine_database(folder, clock), *disk]


def examine_access(folder: Path) -> Finding | None:
    """Why nothing more can be examined, or None."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return fail(
            "folder", f"{folder} does not exist", "correct the path; for a new database, create the folder first"
        )
    except NotADirectoryError:
        return fail("folder", f"{folder} is not a folder", "name the folder that holds data.mdb")
    except OSError as error:
        return fail("folder", f"{folder} cannot be read: {error.strerror}", _USER_ADVICE)
    files = [folder / name for name in ("data.mdb", "lock.mdb", "write.lock") if name in names]
    closed = next((path for path in (folder, *files) if not _is_writable(path)), None)
    if closed is not None:
        return fail("folder", f"this user may not read and write {closed}", _USER_ADVICE)
    return None


_USER_ADVICE: Final = "run this as the user that serves the folder; if that is this one, give it the rights (chown)"


def _is_writable(path: Path) -> bool:
    wanted = os.R_OK | os.W_OK | (os.X_OK if path.is_dir() else 0)
    return os.access(path, wanted, effective_ids=os.access in os.supports_effective_ids)


def examine_database(folder: Path, clock: Clock) -> list[Finding]:
    data = folder / "data.mdb"
    if not data.exists():
        advice = "if data was expected here, look for a disk that is not mounted; if not, the first start creates it"
        return [warn("database", f"{folder} has no database yet", advice)]
    restore = "if it should be one, restore a backup; if not, correct the path"
    if data.stat().st_size == 0:
        return [fail("database", f"{data} is empty", restore)]
    try:
        state = inspect(folder)
    except IncompatibleFormat as error:
        advice = "use the version of Sortkey that wrote it; if it should be of this version, restore a backup"
        return [fail("database", str(error), advice)]
    except Unreadable as error:
        advice = "run it again; if the message stays, run sortkey check, and restore a backup if that fails, too"
        return [fail("database", str(error), advice)]
    except StorageError as error:
        return [fail("database", str(error), restore)]
    return [judge_database(state), judge_age(data.stat().st_mtime - clock.now()), judge_readers(state)]


def judge_database(state: FolderState) -> Finding:
    found = f"format {state.format}, {bytes_text(state.bytes_used)}, {state.commits:,} commits"
    return ok("database", found, bytes=state.bytes_used, commits=state.commits)


def judge_age(ahead: float) -> Finding:
    """By how much the newest commit is ahead of the clock."""
    if ahead > 1:
        return warn(
            "last commit",
            f"{seconds_text(ahead)} ahead of this machine's clock",
            "set the clock: expiry, stream retention and signatures use it",
            ahead=ahead,
        )
    return ok("last commit", f"{seconds_text(max(-ahead, 0))} ago")


def judge_readers(state: FolderState) -> Finding:
    """LMDB does not reuse pages that a snapshot sees, so one that is not ended lets the file grow."""
    ended = [reader for reader in state.readers if not reader.is_alive]
    alive = [reader for reader in state.readers if reader.is_alive]
    if ended:
        found = f"{len(ended)} left behind by ended processes ({_processes(ended)}): their pages are not reused"
        return warn("readers", found, "restart one of the processes that have the folder open", stale=len(ended))
    behind = max((state.commits - reader.snapshot for reader in alive if reader.snapshot is not None), default=0)
    if behind > LONG_SNAPSHOT_COMMITS:
        found = f"the oldest snapshot is {behind:,} commits behind: the file grows until it ends"
        advice = f"end a check or a copy that hangs; the folder is open in {_processes(alive)}"
        return warn("readers", found, advice, behind=behind)
    if len(alive) > FULL_SLOTS * state.slots:
        found = f"{len(alive):,} of {state.slots:,} slots are in use"
        return warn("readers", found, "use fewer processes or threads on this folder", readers=len(alive))
    return ok("readers", f"none stale; open in {_processes(alive)}" if alive else "none: no other process reads it")


def _processes(readers: Sequence[Reader]) -> str:
    numbers = sorted({reader.process for reader in readers})
    shown = ", ".join(map(str, numbers[:5])) + (", …" if len(numbers) > 5 else "")
    return f"process {shown}" if len(numbers) == 1 else f"processes {shown}"


def examine_space(folder: Path) -> Finding:
    usage = shutil.disk_usage(folder)
    return judge_space(usage.free, usage.total)


def judge_space(free: int, total: int) -> Finding:
    found = f"{bytes_text(free)} free of {bytes_text(total)}"
    advice = "make space or enlarge the disk: without space, writes fail and reads continue"
    if free < LEAST_FREE_BYTES:
        return fail("disk space", found, advice, free=free, total=total)
    if free < LITTLE_FREE_BYTES or free < LITTLE_FREE_SHARE * total:
        return warn("disk space", found, advice, free=free, total=total)
    return ok("disk space", found, free=free, total=total)


def examine_sync(folder: Path) -> Finding:
    try:
        seconds = measured_syncs(folder)
    except OSError as error:
        advice = "make space or repair the disk: writes fail as this one did"
        return fail("sync", f"cannot write a file to {folder}: {error.strerror}", advice)
    return judge_sync(statistics.median(seconds), max(seconds))


def measured_syncs(folder: Path) -> list[float]:
    """How long it takes to write a page to a file beside the data, and to sync it."""
    seconds: list[float] = []
    with tempfile.TemporaryFile(dir=folder, prefix="sortkey-doctor-") as file:
        handle = file.fileno()
        os.pwrite(handle, PAGE * SYNCS, 0)
        _sync(handle)
        for number in range(SYNCS):
            began = monotonic()
            os.pwrite(handle, PAGE, number * len(PAGE))
            _sync(handle)
            seconds.append(monotonic() - began)
            if sum(seconds) > SYNC_SECONDS:
                break
    return seconds


def judge_sync(median: float, worst: float) -> Finding:
    """A commit syncs twice: its pages, then the page that makes them valid."""
    found = (
        f"median {seconds_text(median)}, worst {seconds_text(worst)}: about {1 / (2 * median):,.0f} commits a second"
    )
    if median < FEIGNED_SYNC_SECONDS:
        advice = "if this is a disk, see that it syncs (no eatmydata, no write cache without battery)"
        return warn("sync", f"{found}; too quick for a disk", advice, median=median, worst=worst)
    if median > SLOW_SYNC_SECONDS:
        advice = "use a local SSD; until then, send writes over many connections, which share commits"
        return warn("sync", found, advice, median=median, worst=worst)
    return ok("sync", found, median=median, worst=worst)


class Mount(NamedTuple):
    point: Path
    type: str
    options: frozenset[str]


def read_mounts(text: str) -> list[Mount]:
    """The lines of /proc/self/mounts: device, mount point, type, options."""
    fields = (line.split() for line in text.splitlines())
    return [
        Mount(Path(_unescaped(point)), kind, frozenset(options.split(",")))
        for _, point, kind, options, *_ in (each for each in fields if len(each) >= 4)
    ]


def _unescaped(text: str) -> str:
    """A space in a path is written as \\040."""
    return _ESCAPED.sub(lambda matched: chr(int(matched[1], 8)), text)


def mount_of(path: Path, mounts: Iterable[Mount]) -> Mount | None:
    """The mount that a path is on: the deepest above it, and of those the last, which hides the others."""
    found: Mount | None = None
    for mount in mounts:
        deeper = found is None or len(mount.point.parts) >= len(found.point.parts)
        if path.is_relative_to(mount.point) and deeper:
            found = mount
    return found


def examine_file_system(folder: Path) -> Finding:
    try:
        text = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ok("file system", "unknown: this system does not list its mounts")
    mount = mount_of(folder.resolve(), read_mounts(text))
    return ok("file system", "unknown: no mount lists it") if mount is None else judge_mount(mount)


def judge_mount(mount: Mount) -> Finding:
    found = f"{mount.type} on {mount.point}"
    if "ro" in mount.options:
        return fail("file system", f"{found}, read-only", "remount it for writing, or use another disk")
    if mount.type in _MEMORY:
        return warn("file system", f"{found}: memory, gone at a restart", "put the folder on a disk")
    if mount.type in _LAYERED:
        return warn("file system", f"{found}: a container's own layer, gone with it", "put the folder on a volume")
    if mount.type in _REMOTE or mount.type.startswith("fuse"):
        return warn(
            "file system",
            f"{found}: LMDB's locks and memory map need a local file system",
            "put the folder on a local disk (ext4, XFS); damage is possible here if two machines open it",
        )
    unsafe = mount.options & _UNSAFE_OPTIONS
    if unsafe:
        return warn(
            "file system",
            f"{found} with {', '.join(sorted(unsafe))}: a power failure can lose answered writes",
            "mount it with barriers",
        )
    return ok("file system", found)

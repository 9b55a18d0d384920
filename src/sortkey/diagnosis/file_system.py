"""The file system that a data folder is on: from the system's list of mounts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from sortkey.diagnosis.finding import Finding, fail, ok, warn

MOUNTS: Final = Path("/proc/self/mounts")

_ESCAPED: Final = re.compile(r"\\([0-7]{3})")
_MEMORY: Final = frozenset({"tmpfs", "ramfs"})
_LAYERED: Final = frozenset({"overlay", "aufs"})
_REMOTE: Final = frozenset(
    {"9p", "afs", "ceph", "cifs", "glusterfs", "lustre", "nfs", "nfs4", "smb3", "smbfs", "virtiofs"}
)
_UNSAFE_OPTIONS: Final = frozenset({"nobarrier", "barrier=0"})


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

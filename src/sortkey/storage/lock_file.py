"""The file of LMDB's locks and readers, `lock.mdb`, made with all of its space.

LMDB makes the file without content and writes to it through a map, page by page as readers come. Where such a page
finds no space on the disk, the system kills the process (SIGBUS). So the file is made here first, full of zeros, and a
lack of space is an error. LMDB accepts a file that it finds, and initialises it.

The file is made under another name and then linked. It must not be opened once it is there: closing it would release
the locks that LMDB holds in this process.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from pathlib import Path
from typing import Final

NAME: Final = "lock.mdb"

READER_BYTES: Final = 64
HEADER_BYTES: Final = 128
FIRST_BYTES: Final = 64 << 10
"""More than LMDB writes to its other file when it creates it. Half a file would be taken for a damaged one."""

BLOCK_BYTES: Final = 512
"""In which `stat` counts."""

_NO_SPACE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def reserve(folder: Path, readers: int) -> None:
    """Make the file if it is missing. Raises OSError if the disk has no space for it.

    Other errors are left to LMDB, which may do without the file, for example on a read-only disk.
    """
    file = folder / NAME
    try:
        if file.exists():
            _check_space(file)
        else:
            _make(file, HEADER_BYTES + readers * READER_BYTES)
    except OSError as error:
        if error.errno in _NO_SPACE:
            raise


def _check_space(file: Path) -> None:
    """A file of another program, or one that was copied without its zeros, may lack pages."""
    found, disk = file.stat(), os.statvfs(file)
    if found.st_blocks * BLOCK_BYTES < found.st_size and disk.f_bavail * disk.f_frsize < found.st_size:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _make(file: Path, size: int) -> None:
    other = file.with_name(f"{NAME}.{secrets.token_hex(4)}")
    handle = os.open(other, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    try:
        try:
            _write_zeros(handle, size + FIRST_BYTES)
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

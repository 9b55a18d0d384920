"""Buckets: folders in the place of object storage. An object is a file, and its key the file's path in its bucket.

No bucket and no key leads out of the folder: names are checked part by part, and links are not followed. A file gets
its name only when it is whole and on disk; what a killed process leaves has a name that ends in `.unfinished`, and is
no object.
"""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from sortkey.storage.environment import FILE_MODE, FOLDER_MODE, sync_names

_BUCKET: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*[A-Za-z0-9]")
_UNFINISHED: Final = ".unfinished"


class NoSuchBucket(Exception):
    """There is no folder of the bucket's name."""


class BadName(Exception):
    """The name of a bucket, or a key, that cannot be a path; the message says why."""


class StoredObject(NamedTuple):
    key: str
    size: int


def check_names(bucket: str, key: str) -> None:
    """Raises BadName for a bucket or a key that a folder cannot have."""
    if not _BUCKET.fullmatch(bucket):
        raise BadName(f"{bucket!r} cannot be a bucket's name")
    if any(part in ("", ".", "..") for part in key.split("/")) or "\0" in key:
        raise BadName(f"the key {key!r} has an empty part, or one that is '.' or '..'")


class Buckets:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, bucket: str, key: str, content: bytes) -> None:
        """Write an object, or replace it. Raises OSError."""
        check_names(bucket, key)
        top = self._folder / bucket
        path = top.joinpath(*key.split("/"))
        if not path.parent.resolve().is_relative_to(top.resolve()):
            raise BadName(f"the key {key!r} leads out of the bucket")
        path.parent.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
        for old in path.parent.glob(f"{path.name}.*{_UNFINISHED}"):
            old.unlink(missing_ok=True)
        unfinished = path.with_name(f"{path.name}.{secrets.token_hex(4)}{_UNFINISHED}")
        with os.fdopen(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE), "wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        unfinished.replace(path)
        sync_names(path.parent)

    def objects(self, bucket: str, prefix: str) -> list[StoredObject]:
        """The objects whose keys begin with the prefix, in order."""
        top = self._folder / bucket
        if not _BUCKET.fullmatch(bucket) or not top.is_dir():
            raise NoSuchBucket(f"there is no folder {bucket} in the buckets' folder")
        found = []
        for folder, _, names in os.walk(top):
            for path in (Path(folder, name) for name in names):
                key = path.relative_to(top).as_posix()
                if key.startswith(prefix) and path.is_file() and not path.is_symlink() and path.suffix != _UNFINISHED:
                    found.append(StoredObject(key, path.stat().st_size))
        return sorted(found)

    def open(self, bucket: str, key: str) -> BinaryIO:
        """Open an object that was listed. Raises OSError."""
        check_names(bucket, key)
        path = self._folder.joinpath(bucket, *key.split("/"))
        return os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb")

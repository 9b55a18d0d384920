"""The record of a load that is under way: how far it is, so that an interrupted one goes on where it was."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import sortkey as sk
from sortkey_services.pricing.model import PRICES

PRICES_LOAD: Final = "prices"
"""One load at a time."""


class PriceLoadRecord(sk.Item, table=PRICES):
    """While a load is under way, and after one was interrupted."""

    load: Annotated[str, sk.in_key]
    file: str
    size: int
    modified: int
    """Nanoseconds since 1970, as the file system has it."""
    since: int
    """What `effectiveAt` is for rows without one: when the load began, in microseconds since 1970."""
    rows: int
    """Of the file."""
    direct: list[int]
    """For each process that writes rows by itself, how many of its rows are written; empty if there is none."""
    changes: int = 0
    """How many of the rows that are made as changes are made."""

    key = sk.Key("LOAD#{load}", "LOAD")

    def is_of(self, file: FileIdentity) -> bool:
        return (self.file, self.size, self.modified) == file

    @property
    def done(self) -> int:
        return sum(self.direct) + self.changes


class FileIdentity(NamedTuple):
    """What tells whether a file is the same as before."""

    name: str
    size: int
    modified: int

    @classmethod
    def of(cls, path: Path) -> FileIdentity:
        found = os.stat(path)
        return cls(path.name, found.st_size, found.st_mtime_ns)

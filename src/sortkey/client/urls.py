"""Store URLs: the one text that says where the data is.

./data   /var/lib/shop   file:./data   file:///var/lib/shop      a data folder, made when missing
memory:                                                          nothing but memory, gone at close
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

# Two letters at least, so that C:\data is a path.
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(.*)", re.DOTALL)
_REMOTE: Final = frozenset({"http", "https", "dynamodb"})
_WHAT_WORKS: Final = "use a folder's path, 'file:PATH', or 'memory:'"


@dataclass(frozen=True, slots=True)
class Store:
    """Where a client's data is: in a folder, or in memory when `path` is None."""

    url: str
    path: Path | None


def parse(url: str | os.PathLike[str]) -> Store:
    """The store that a URL or a path names. Raises ValueError for anything else; opens nothing."""
    if not isinstance(url, str):
        path = Path(url)
        return Store(str(path), path)
    matched = _SCHEME.fullmatch(url)
    scheme, rest = (matched[1].lower(), matched[2]) if matched else ("file", url)
    if scheme in _REMOTE:
        raise ValueError(f"{url!r} names a remote store, which is not supported yet: {_WHAT_WORKS}")
    if scheme not in {"file", "memory"}:
        raise ValueError(f"{url!r} has the unknown scheme {scheme!r}: {_WHAT_WORKS} (a path with a colon: './{url}')")
    if "?" in rest:
        raise ValueError(f"{url!r} has options behind '?', which are not supported yet: {_WHAT_WORKS}")
    if scheme == "memory":
        if rest:
            raise ValueError(f"{url!r} names a store in memory, which has no name of its own: use 'memory:'")
        return Store(url, None)
    return Store(url, _folder(url, rest))


def _folder(url: str, rest: str) -> Path:
    if rest.startswith("//"):
        if not rest.startswith("///"):
            raise ValueError(f"{url!r} names a host: a file URL is 'file:PATH' or 'file:///PATH'")
        rest = rest[2:]
    if not rest or "\0" in rest:
        raise ValueError(f"{url!r} names no folder: {_WHAT_WORKS}")
    return Path(rest)

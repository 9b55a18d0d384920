"""The file that `--keys` names: who may sign requests, and for which tables.

    {
      "AKIDEVERYTHING": {"secret": "…"},
      "AKIDORDERS": {"secret": "…", "region": "eu-west-1", "tables": {"orders*": "readwrite", "prices": "read"}}
    }

A key without `tables` may do everything; a key without `region` is good for any region.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

Right = Literal["read", "write", "readwrite", "admin"]


class Key(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    secret: str
    region: str | None = None
    tables: dict[str, Right] | None = None


class BadKeysFile(Exception):
    """The file cannot be used; the message says why, in one line."""


def load(path: Path) -> dict[str, Key]:
    try:
        keys = msgspec.json.decode(path.read_bytes(), type=dict[str, Key])
    except OSError as error:
        raise BadKeysFile(f"cannot read the keys in {path}: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadKeysFile(f"{path} is not a keys file: {error}") from error
    if not keys:
        raise BadKeysFile(f"{path} contains no keys, so no client could use the endpoint")
    for key_id, key in keys.items():
        if not key_id or not key.secret or "/" in key_id:
            raise BadKeysFile(f"{path}: key {key_id!r}: needs an id without '/', and a secret")
    return keys

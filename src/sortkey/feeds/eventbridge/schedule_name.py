"""The names of EventBridge schedules: at most 64 letters, digits, dashes, underscores and dots. Pure.

    price-changes_12345_20260824T100000Z.t6rq4jx3x7g2mzq5d2v6wbq3ae

The first part is for people: the schedule, the group and the instant, cut and with other characters replaced. The last
part is a hash of all of them, so no two have the same name, and the same has the same name again.
"""

from __future__ import annotations

import re
from base64 import b32encode
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Final

import msgspec

from sortkey.patterns.schedules import Occurrence

LONGEST: Final = 64
_HASH_BYTES: Final = 16
_OTHERS: Final = re.compile(r"[^0-9A-Za-z_-]+", re.ASCII)


def schedule_name(schedule: str, occurrence: Occurrence, late: datetime | None = None) -> str:
    """The name of an occurrence's schedule. `late` is when it is called, if that is not its own time: a schedule for
    that time may have been called already, and another one is needed."""
    told = msgspec.json.encode((schedule, occurrence.group, occurrence.at, late))
    digest = b32encode(blake2b(told, digest_size=_HASH_BYTES).digest()).decode().rstrip("=").lower()
    time = f"_{occurrence.at.astimezone(UTC):%Y%m%dT%H%M%SZ}."
    shown = f"{_plain(schedule)}_{_plain(occurrence.group)}"[: LONGEST - len(time) - len(digest)]
    return f"{shown}{time}{digest}"


def _plain(text: str) -> str:
    return _OTHERS.sub("-", text).strip("-")

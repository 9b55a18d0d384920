"""A finding of `sortkey doctor`: what was examined, whether it is fit, and what to do if it is not; with bytes,
seconds and counts as people read them."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec


class Status(StrEnum):
    OK = "ok"
    WARN = "warn"
    """It works, but slower, or less safely, than it should."""
    FAIL = "fail"
    """It does not work, or loses data."""


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    subject: str
    status: Status
    found: str
    advice: str = ""
    """What to do. Empty if there is nothing to do."""
    numbers: dict[str, float] = {}
    """What was measured, for programs: seconds, bytes and counts."""


def ok(subject: str, found: str, advice: str = "", **numbers: float) -> Finding:
    return Finding(subject, Status.OK, found, advice, numbers)


def warn(subject: str, found: str, advice: str, **numbers: float) -> Finding:
    return Finding(subject, Status.WARN, found, advice, numbers)


def fail(subject: str, found: str, advice: str, **numbers: float) -> Finding:
    return Finding(subject, Status.FAIL, found, advice, numbers)


_BYTES: Final = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def bytes_text(number: float) -> str:
    for size, unit in _BYTES:
        if number >= size:
            return f"{number / size:.3g} {unit}" if number < 999 * size else f"{number / size:,.0f} {unit}"
    return f"{number:.0f} bytes"


def seconds_text(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:,.1f} s"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} µs"


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"

"""A finding of `sortkey doctor`: what was examined, whether it is fit, and what to do if it is not."""

from __future__ import annotations

from enum import StrEnum

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

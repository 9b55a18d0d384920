"""What a usual read gives, and what shows that a request is not of this kind."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from sortkey.errors import ValidationException

UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValidationException)
"""What reading a request raises that has another member, type or length than the usual ones, or a name of no table."""


class Answered(NamedTuple):
    text: bytes
    """The answer's JSON."""
    units: dict[str, float]
    """Read units by table; nobody has to be told, but everything is counted."""

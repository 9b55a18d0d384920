"""The TTL attribute of a row: DynamoDB expires an item only by a number of seconds since 1970."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Final, NamedTuple

from sortkey.model.audit.finding import Finding, Kind
from sortkey.model.fields.codec import Row
from sortkey.model.fields.converter import NULL, Value
from sortkey.model.fields.epoch import to_epoch

_LAST_SECOND: Final = 253_402_300_799
"""The end of the year 9999; a greater number is not meant as seconds."""
_DIGITS: Final = 10
"""The seconds of the years 2001 to 2286 have so many digits. A text with fewer may be a day or a year."""


class TtlFinding(NamedTuple):
    finding: Finding
    value: Value | None
    """The number of seconds that was meant; None if that is not certain."""

    def without_repair(self, reason: str) -> TtlFinding:
        finding = self.finding._replace(detail=f"{self.finding.detail}; {reason}", repairable=False)
        return TtlFinding(finding, None)


def audit_ttl(attribute: str | None, row: Row) -> TtlFinding | None:
    """What is wrong with the TTL attribute of a row; None if nothing is."""
    if attribute is None or row.get(attribute, NULL) == NULL:
        return None
    ((tag, content),) = row[attribute].items()
    if tag == "N":
        if Decimal(content) <= _LAST_SECOND:
            return None
        # As seconds it would delete the item some day; a wrong guess would delete it now.
        return TtlFinding(Finding(Kind.TTL, attribute, f"{content} is after the year 9999; milliseconds?"), None)
    seconds = _seconds(content) if tag == "S" else None
    detail = f"it is {tag} {content!r}" + ("" if seconds is not None else ", which is not certain to be a time")
    value = None if seconds is None else {"N": str(seconds)}
    return TtlFinding(Finding(Kind.TTL, attribute, detail, repairable=value is not None), value)


def _seconds(text: str) -> int | None:
    """The seconds that a text stands for, if it can mean nothing else: ten digits, or a time with its zone."""
    if text.isascii() and text.isdecimal():
        return int(text) if len(text) == _DIGITS and not text.startswith("0") else None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if moment.utcoffset() is None else to_epoch(moment)

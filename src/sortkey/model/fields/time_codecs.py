"""Two more forms of a stored time: `Annotated[datetime, sk.epoch_ms]` and `Annotated[datetime, sk.seconds]`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sortkey.model.fields.key_text import aware_utc, instant_text
from sortkey.model.fields.stored_as import stored_as

_START: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


def _to_milliseconds(value: Any) -> int:
    return (aware_utc(value) - _START) // _MILLISECOND


def _from_milliseconds(number: int) -> datetime:
    return _START + number * _MILLISECOND


def _to_text(value: Any) -> str:
    return f"{instant_text(value).partition('.')[0]}Z"


def _from_text(text: str) -> datetime:
    return aware_utc(datetime.fromisoformat(text))


epoch_ms: Final = stored_as(int, encode=_to_milliseconds, decode=_from_milliseconds)
"""The time is stored as a number, in whole milliseconds since 1970, as JavaScript counts them:
`Annotated[datetime, sk.epoch_ms]`."""
seconds: Final = stored_as(str, encode=_to_text, decode=_from_text)
"""The time is stored as text without a fraction, `2026-08-24T12:30:00Z`: `Annotated[datetime, sk.seconds]`."""

"""Two more forms of a stored time: `Annotated[datetime, sk.epoch_ms]` and `Annotated[datetime, sk.seconds]`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sortkey.model.fields.converter import other_form
from sortkey.model.fields.key_text import aware_utc, instant_text
from sortkey.model.fields.real_types import RealTypes
from sortkey.model.fields.stored_as import StoredAs

_START: Final = RealTypes.datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


def _to_milliseconds(value: Any) -> int:
    return (aware_utc(value) - _START) // _MILLISECOND


def _from_milliseconds(number: int) -> datetime:
    return _START + number * _MILLISECOND


def _to_text(value: Any) -> str:
    return f"{instant_text(value).partition('.')[0]}Z"


def _from_text(text: str) -> datetime:
    return instant_in_form(text, _to_text, "2026-08-24T12:30:00Z")


def instant_in_form(text: str, to_text: Callable[[Any], str], example: str) -> datetime:
    """The instant that a text means. Raises OtherForm unless the text is what `to_text` writes, such as the example."""
    moment = aware_utc(RealTypes.datetime.fromisoformat(text))
    if to_text(moment) == text:
        return moment
    declaration = "a plain datetime" if instant_text(moment) == text else "a field with sk.stored_as(…, also=…)"
    return other_form(moment, text, example, declaration)


epoch_ms: Final = StoredAs(int, _to_milliseconds, _from_milliseconds, is_strict=True)
"""The time is stored as a number, in whole milliseconds since 1970, as JavaScript counts them:
`Annotated[datetime, sk.epoch_ms]`."""
seconds: Final = StoredAs(str, _to_text, _from_text, is_strict=True)
"""The time is stored as text without a fraction, `2026-08-24T12:30:00Z`: `Annotated[datetime, sk.seconds]`."""

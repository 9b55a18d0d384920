"""`datetime` and `date` themselves, also in a test that has replaced them.

While freezegun freezes time, the names `datetime` and `date` of every module mean its own subclasses. So an annotation
that is read then has a subclass, a comparison with the name fails, and msgspec does not know the values. The attributes
of a class are not replaced.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Any, Final, TypeVar, cast

_T = TypeVar("_T")
_FREEZER: Final = "freezegun.api"


def _original(kind: type[_T]) -> type[_T]:
    """The type itself, also if this module is imported while time is frozen."""
    return cast("type[_T]", next(each for each in kind.__mro__ if each.__module__ == "datetime"))


class RealTypes:
    """What `datetime` and `date` mean when no test has replaced them."""

    datetime: Final = _original(datetime)
    date: Final = _original(date)


def real_type(kind: Any) -> Any:
    """The type that freezegun has replaced by this one; any other type is itself."""
    if isinstance(kind, type) and kind.__module__ == _FREEZER:
        return RealTypes.datetime if issubclass(kind, RealTypes.datetime) else RealTypes.date
    return kind


def real_time(moment: datetime) -> datetime:
    """The same time as a datetime itself, not a subclass."""
    return RealTypes.datetime.combine(moment.date(), moment.timetz())

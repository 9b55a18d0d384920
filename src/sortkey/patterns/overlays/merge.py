"""What a reader is shown: the base, with the fields that newer items of the overlay replace.

    base       Person(as_of=03:00, goals=[Goal("SAVINGS", saved=320, status="IN_PROGRESS"), …])
    overlay    Pending(goal="SAVINGS", updated=14:23, balance=370, status="PENDING")
    shown      Person(as_of=03:00, goals=[Goal("SAVINGS", saved=370, status="PENDING"), …])

Items that have expired, and those that are not after the base's instant, are as good as deleted. Of the others for one
part, the newest decides; it replaces nothing if it does not match the overlay's `where`. Pure: the time is an argument.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from datetime import datetime
from inspect import Parameter, signature
from operator import attrgetter
from typing import Any, Final, NamedTuple

from sortkey.model.fields.records import replace_fields

_POSITIONAL: Final = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


class Part(NamedTuple):
    """The field of the base whose elements are replaced, and the field that tells them apart."""

    field: str
    by: str


class Merge:
    def __init__(
        self,
        newer: str,
        than: str,
        replaced: Mapping[str, str | Callable[..., Any]],
        part: Part | None,
        expires: str | None,
        accepts: Callable[[Any], bool] | None,
    ) -> None:
        self._newer = newer
        self._than = than
        self._replaced = {field: _reads(read) for field, read in replaced.items()}
        self._part = part
        self._expires = expires
        self._accepts = accepts

    def __call__(self, base: Any, items: Iterable[Any], now: datetime) -> Any:
        newest = self._newest(items, getattr(base, self._than), now)
        if not newest:
            return base
        if self._part is None:
            return self._replace(base, newest[None], base)
        return replace_fields(base, **{self._part.field: self._replace_each(base, self._part, newest)})

    def _newest(self, items: Iterable[Any], seen: datetime, now: datetime) -> dict[Hashable, Any]:
        """For each part, the newest item, if it replaces anything."""
        newest: dict[Hashable, tuple[datetime, Any]] = {}
        for item in items:
            instant = getattr(item, self._newer)
            if instant <= seen or self._has_expired(item, now):
                continue
            part = None if self._part is None else getattr(item, self._part.by)
            if part not in newest or newest[part][0] < instant:
                newest[part] = instant, item
        return {part: item for part, (_, item) in newest.items() if self._accepts is None or self._accepts(item)}

    def _has_expired(self, item: Any, now: datetime) -> bool:
        expires = None if self._expires is None else getattr(item, self._expires)
        if expires is None:
            return False
        return bool(expires < (now if isinstance(expires, datetime) else now.timestamp()))

    def _replace_each(self, base: Any, part: Part, newest: Mapping[Hashable, Any]) -> Any:
        elements = getattr(base, part.field)
        if isinstance(elements, Mapping):
            return {
                key: self._replace(element, newest[key], base) if key in newest else element
                for key, element in elements.items()
            }
        shown = []
        for element in elements:
            item = newest.get(getattr(element, part.by))
            shown.append(element if item is None else self._replace(element, item, base))
        return shown

    def _replace(self, record: Any, item: Any, base: Any) -> Any:
        return replace_fields(record, **{field: read(item, base) for field, read in self._replaced.items()})


def _reads(read: str | Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """A function of the overlay's item and the base."""
    if isinstance(read, str):
        of_item = attrgetter(read)
        return lambda item, _: of_item(item)
    if takes_base(read):
        return read
    return lambda item, _: read(item)


def takes_base(read: Callable[..., Any]) -> bool:
    """Whether a function has a second parameter, which it needs."""
    try:
        parameters = signature(read).parameters.values()
    except ValueError:
        return False  # of a builtin that does not say
    needed = [each for each in parameters if each.default is Parameter.empty and each.kind in _POSITIONAL]
    return len(needed) == 2

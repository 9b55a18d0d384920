"""What a timer stands for: a group of items, and the instant at which something is due for it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from operator import attrgetter
from typing import Any, Final, NamedTuple

import msgspec

from sortkey.model.changes.conditions import Where, requires_nothing
from sortkey.model.changes.requirements import Requirement
from sortkey.model.errors import DeclarationError, DecodeError, suggestion
from sortkey.model.items.item import Item, schema_of

At = str | Callable[[Any], datetime | Iterable[datetime] | None]
"""The field with the time, or a function from an item to its time or times."""


class Occurrence(NamedTuple):
    group: str
    """The values of the group's fields, as a JSON list."""
    at: datetime
    """In UTC."""

    @property
    def group_id(self) -> str:
        """A hash of the group, for keys."""
        return blake2b(self.group.encode(), digest_size=16).hexdigest()

    def key(self, schedule: str) -> str:
        """What identifies it among all occurrences of all schedules: 32 letters and digits."""
        text = msgspec.json.encode((schedule, self.group, self.at))
        return blake2b(text, digest_size=16).hexdigest()


NONE: Final[frozenset[Occurrence]] = frozenset()


class Source:
    """The items of a schedule, and the occurrences that they ask for."""

    def __init__(self, cls: type[Item], at: At, by: Sequence[str] | None, where: Where | None) -> None:
        self.cls = cls
        self.schema = schema_of(cls)
        self.at_field = at if isinstance(at, str) else None
        self._read_at = self._reader(at)
        self.by = tuple(self._default_by() if by is None else by)
        self._read_by = [attrgetter(self._known(name)) for name in self.by]
        self._groups = self._group_decoder()
        self._accepts: Callable[[Any], bool] | None = None
        if not requires_nothing(where):
            self._accepts = Requirement(self.schema, where, {}).accepts

    def occurrences(self, item: Any) -> frozenset[Occurrence]:
        """None if it does not match, has no time, or lacks a field of the group. Raises ValueError for a time without
        a zone."""
        if not isinstance(item, self.cls) or (self._accepts is not None and not self._accepts(item)):
            return NONE
        values = [read(item) for read in self._read_by]
        if None in values:
            return NONE
        found = self._read_at(item)
        if found is None:
            return NONE
        group = msgspec.json.encode(values).decode()
        times = [found] if isinstance(found, datetime) else found
        return frozenset(Occurrence(group, self._instant(each)) for each in times)

    def fields(self, group: str) -> dict[str, Any]:
        """The fields of a group. Raises DecodeError for a text that is none."""
        try:
            return dict(zip(self.by, self._groups.decode(group), strict=True))
        except msgspec.DecodeError as error:
            raise DecodeError(
                f"the group {group} is not one of {', '.join(self.by)}: {error}. A schedule that is declared by other "
                "fields needs another name"
            ) from None

    def group(self, fields: Mapping[str, Any]) -> str:
        """The text of a group."""
        return msgspec.json.encode([fields[name] for name in self.by]).decode()

    def _instant(self, moment: Any) -> datetime:
        if not isinstance(moment, datetime) or moment.utcoffset() is None:
            raise ValueError(
                f"{self.schema.name}: the time of a schedule is a datetime with a time zone, not {moment!r}"
            )
        return moment.astimezone(UTC)

    def _reader(self, at: At) -> Callable[[Any], Any]:
        if not isinstance(at, str):
            if not callable(at):
                raise DeclarationError(
                    f"at= is a field of {self.schema.name}, or a function from an item to its time, not {at!r}"
                )
            return at
        declared = self.schema.codec.by_name[self._known(at)].annotation.declared
        if declared is not datetime:
            raise DeclarationError(f"{self.schema.name}.{at} must be a datetime to be the time of a schedule")
        return attrgetter(at)

    def _known(self, name: str) -> str:
        fields = self.schema.codec.by_name
        if name not in fields:
            raise DeclarationError(f"{self.schema.name} has no field {name!r}{suggestion(name, fields)}")
        return name

    def _default_by(self) -> Sequence[str]:
        """The primary key: a timer for each item."""
        return [name for name in self.schema.primary.fields if name != self.at_field]

    def _group_decoder(self) -> msgspec.json.Decoder[tuple[Any, ...]]:
        if not self.by:
            raise DeclarationError(f"by= names the fields of {self.schema.name} that a timer is for, and has none")
        types = tuple(self.schema.codec.by_name[name].annotation.declared for name in self.by)
        try:
            return msgspec.json.Decoder(tuple.__class_getitem__(types))
        except TypeError as error:
            raise DeclarationError(f"by={self.by!r}: {error}") from None

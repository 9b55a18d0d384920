"""`sk.patterns.overlay`: which items lie over which base, what they replace there, and when they are newer.

A declaration sends nothing; `OverlayReader` reads by it. All mistakes are rejected at import.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Generic, TypeVar, get_args, get_origin

from sortkey.model.calls.item_decoder import Undecodable
from sortkey.model.changes.combination import Where, requires_nothing
from sortkey.model.changes.requirements import Requirement
from sortkey.model.errors import DeclarationError, suggestion
from sortkey.model.items.codec import Codec, codec_of
from sortkey.model.items.item import Item, schema_of
from sortkey.model.items.records import is_record
from sortkey.model.items.schema import Schema
from sortkey.model.keys.key import BoundKey
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.patterns.overlays.merge import Merge, Part
from sortkey.patterns.overlays.reader import OverlayReader, ReadBase

BaseT = TypeVar("BaseT", bound=Item)
OverT = TypeVar("OverT", bound=Item)
Replace = Mapping[str, str | Callable[..., Any]]
"""The fields that are replaced, and the field of the overlay's item that each is taken from, or a function of it, or of
it and the base."""


class Overlay(Generic[BaseT, OverT]):
    """A declared overlay: see `sk.patterns.overlay`."""

    def __init__(
        self,
        items: type[OverT],
        over: type[BaseT],
        newer: str,
        than: str,
        replace: Replace,
        part: Part | None,
        where: Where | None,
    ) -> None:
        self.items = items
        self.over = over
        self._newer, self._than = newer, than
        here, base = schema_of(items), schema_of(over)
        _check_key(here, base)
        _check_instant(here.codec, newer)
        _check_instant(base.codec, than)
        replaced = base.codec if part is None else _element(here.codec, base.codec, part)
        _check_replaced(here.codec, replaced, replace, base if part is None else None)
        if part is not None and part.by in replace:
            raise DeclarationError(
                f"{replaced.struct.__name__}.{part.by} tells the elements apart, as by= says, so it cannot be replaced"
            )
        accepts = None if requires_nothing(where) else Requirement(here, where, {}).accepts
        self._merge = Merge(newer, than, dict(replace), part, here.codec.ttl_field, accepts)

    def __repr__(self) -> str:
        return f"<overlay of {self.items.__name__} over {self.over.__name__}>"

    def reader(
        self,
        session: AsyncSession,
        *,
        base: ReadBase[BaseT] | None = None,
        consistent: bool = False,
        undecodable: Undecodable = "raise",
    ) -> OverlayReader[BaseT, OverT]:
        """The overlay in a store, whose `get` reads both and merges them. `base` is a function that reads the base item
        by the fields of its key; by default it is the session's `get`. Reads are eventually consistent unless
        `consistent`. An overlay's row that its class cannot read raises DecodeError, or is left out if `undecodable`
        is "skip"."""
        if not isinstance(session, AsyncSession):
            raise TypeError(f"a reader needs an open session, of sk.async_connect, not {session!r}")
        key = _primary_key(self.over)

        async def read(**fields: Any) -> BaseT | None:
            return await session.get(key(**fields), consistent=consistent)

        return OverlayReader(
            session, self.items, _primary_key(self.items), self._merge, base or read, consistent, undecodable
        )

    def merge(self, base: BaseT, items: Iterable[OverT], now: datetime) -> BaseT:
        """What is shown of a base item and the items over it, at a time. Sends nothing: for a sync session, and for
        items that were read in another way. Raises ValueError for an item over another base."""
        if not isinstance(base, self.over):
            raise TypeError(f"{self!r} takes a base of {self.over.__name__}, not {base!r}")
        self._require_zone("now", now)
        self._require_zone(f"{self.over.__name__}.{self._than}", getattr(base, self._than))
        given = list(items)
        for item in given:
            self._require_over(base, item)
        shown: BaseT = self._merge(base, given, now)
        return shown

    def _require_zone(self, name: str, instant: object) -> None:
        """Stored times have a zone; those of a program may lack it."""
        if not isinstance(instant, datetime) or instant.tzinfo is None:
            raise TypeError(f"{self!r}: {name} must be a datetime with a time zone, not {instant!r}")

    def _require_over(self, base: BaseT, item: OverT) -> None:
        if not isinstance(item, self.items):
            raise TypeError(f"{self!r} takes items of {self.items.__name__}, not {item!r}")
        for name in schema_of(self.items).primary.partition_fields:
            own, other = getattr(base, name), getattr(item, name)
            if own != other:
                raise ValueError(f"{item!r} is not over this {self.over.__name__}, whose {name} is {own!r}")
        self._require_zone(f"{self.items.__name__}.{self._newer}", getattr(item, self._newer))


def overlay(
    items: type[OverT],
    *,
    over: type[BaseT],
    newer: str,
    than: str,
    replace: Replace,
    part: str | None = None,
    by: str | None = None,
    where: Where | None = None,
) -> Overlay[BaseT, OverT]:
    """Declares that items of one class replace fields of a base item, as long as they are newer than what the base has
    seen: `newer` is a time of the items, `than` the time up to which the base is complete.

        view = sk.patterns.overlay(
            Pending,
            over=Person,
            newer="updated",
            than="as_of",
            part="goals",
            by="goal",
            replace={"saved": "balance", "status": "status"},
        )

    `replace` has the fields that are replaced, and the field of the overlay's item that each is taken from, or a
    function of it, or of it and the base item. They are fields of the base item, or, with `part`, of the elements of
    its list or dict of that name: `by` is the field that an item and its element have in common; in a dict, it is the
    key. The key of the items begins with fields of the base's key. An item that has expired by its table's TTL is not
    shown, nor is one that does not match `where`, which also hides older ones. See docs/guides/patterns.md.
    """
    if (part is None) != (by is None):
        raise DeclarationError("part= and by= belong together: the field with the elements, and what tells them apart")
    return Overlay(items, over, newer, than, replace, None if part is None or by is None else Part(part, by), where)


def _primary_key(cls: type[Any]) -> BoundKey[Any]:
    key: BoundKey[Any] = getattr(cls, schema_of(cls).primary.name)
    return key


def _check_key(here: Schema[Any], base: Schema[Any]) -> None:
    others = [name for name in here.primary.partition_fields if name not in base.primary.fields]
    if others:
        raise DeclarationError(
            f"the partition key of {here.name} has {', '.join(others)}, which is not in the key of {base.name}; "
            f"one Query must find all items over a {base.name}"
        )


def _check_instant(codec: Codec, name: str) -> None:
    _require_field(codec, name)
    annotation = codec.by_name[name].annotation
    if annotation.declared is not datetime or annotation.optional:
        raise DeclarationError(
            f"{codec.struct.__name__}.{name} must be a datetime, since instants are compared, not {annotation.declared}"
            f"{' or None' if annotation.optional else ''}"
        )


def _require_field(codec: Codec, name: str) -> None:
    if name not in codec.by_name:
        raise DeclarationError(f"{codec.struct.__name__} has no field {name!r}{suggestion(name, codec.by_name)}")


def _element(here: Codec, base: Codec, part: Part) -> Codec:
    """The codec of the elements of a list or a dict."""
    _require_field(base, part.field)
    _require_field(here, part.by)
    declared = base.by_name[part.field].annotation.declared
    origin, arguments = get_origin(declared), get_args(declared)
    if origin not in (list, dict) or not is_record(arguments[-1]) or base.by_name[part.field].annotation.optional:
        raise DeclarationError(
            f"{base.struct.__name__}.{part.field} must be a list or a dict of items, as list[Goal], not {declared}"
        )
    element = codec_of(arguments[-1])
    if origin is list:
        _require_field(element, part.by)
        _require_same_type(element, part.by, here, part.by)
    elif arguments[0] is not here.by_name[part.by].annotation.declared:
        raise DeclarationError(
            f"the keys of {base.struct.__name__}.{part.field} are {arguments[0]}, and {here.struct.__name__}.{part.by} "
            f"is {here.by_name[part.by].annotation.declared}"
        )
    return element


def _check_replaced(here: Codec, replaced: Codec, replace: Replace, base: Schema[Any] | None) -> None:
    """`base` is given if the fields are its own."""
    if not replace:
        raise DeclarationError("replace= needs fields, such as {'saved': 'balance'}")
    for name, read in replace.items():
        _require_field(replaced, name)
        if base is not None and name in base.primary.fields:
            raise DeclarationError(f"{base.name}.{name} is in the key, so it cannot be replaced")
        if not callable(read):
            _require_field(here, read)
            _require_same_type(replaced, name, here, read)


def _require_same_type(replaced: Codec, name: str, here: Codec, read: str) -> None:
    into, taken = replaced.by_name[name].annotation, here.by_name[read].annotation
    if into.declared != taken.declared or (taken.optional and not into.optional):
        raise DeclarationError(
            f"{replaced.struct.__name__}.{name} is {_shown(into)}, and {here.struct.__name__}.{read}, which it is "
            f"taken from, is {_shown(taken)}"
        )


def _shown(annotation: Any) -> str:
    return f"{annotation.declared}{' or None' if annotation.optional else ''}"

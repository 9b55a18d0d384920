"""`sk.patterns.overlay`: which items lie over which base, what they replace there, and when they are newer.

    base       Person(as_of=03:00, goals=[Goal("SAVINGS", saved=320, status="IN_PROGRESS"), …])
    overlay    Pending(goal="SAVINGS", updated=14:23, balance=370, status="PENDING")
    shown      Person(as_of=03:00, goals=[Goal("SAVINGS", saved=370, status="PENDING"), …])

Items that have expired, and those that are not after the base's instant, are as good as deleted. Of the others for one
part, the newest decides; it replaces nothing if it does not match the overlay's `where`.

A declaration sends nothing; `OverlayReader` reads a base item and its overlay at the same time, and `OverlayMerge`
merges them. All mistakes are rejected at import.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from datetime import datetime
from inspect import Parameter, signature
from operator import attrgetter
from typing import Any, Final, Generic, NamedTuple, TypeVar, get_args, get_origin

from sortkey.client.stores import EMBEDDED
from sortkey.model.calls.arguments import require_async
from sortkey.model.calls.item_decoder import Undecodable
from sortkey.model.changes.conditions import Where, requires_nothing
from sortkey.model.changes.requirements import Requirement
from sortkey.model.errors import DeclarationError, suggestion, type_name
from sortkey.model.fields.codec import Codec, codec_of
from sortkey.model.fields.real_types import RealTypes
from sortkey.model.fields.records import is_record, replace_fields
from sortkey.model.items.access_path import AccessPath
from sortkey.model.items.item import Item, schema_of
from sortkey.model.items.key import BoundKey
from sortkey.model.items.schema import Schema
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.pattern_steps import context_of

BaseT = TypeVar("BaseT", bound=Item)
OverT = TypeVar("OverT", bound=Item)
OtherT = TypeVar("OtherT", bound=Item)
ReadBase = Callable[..., Awaitable[BaseT | None]]
"""Reads the base item with these fields of its key, given by name."""
Replace = Mapping[str, str | Callable[..., Any]]
"""The fields that are replaced, and the field of the overlay's item that each is taken from, or a function of it, or of
it and the base."""

_POSITIONAL: Final = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


class Overlay(Generic[BaseT, OverT]):
    """A declared overlay: see `sk.patterns.overlay`."""

    def __init__(
        self,
        items: type[OverT],
        over: type[BaseT],
        newer: str,
        than: str,
        replace: Replace,
        part: ReplacedPart | None,
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
        self._merge = OverlayMerge(newer, than, dict(replace), part, here.codec.ttl_field, accepts)

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
        if base is not None:
            require_async(f"{self!r}: base", base)
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
    shown, nor is one that does not match `where`, which also hides older ones. See docs/guides/overlays.md.
    """
    if (part is None) != (by is None):
        raise DeclarationError("part= and by= belong together: the field with the elements, and what tells them apart")
    return Overlay(
        items, over, newer, than, replace, None if part is None or by is None else ReplacedPart(part, by), where
    )


class OverlayReader(Generic[BaseT, OverT]):
    """An overlay in one store. `Overlay.reader` makes it."""

    def __init__(
        self,
        session: AsyncSession,
        items: type[OverT],
        key: BoundKey[OverT],
        merge: OverlayMerge,
        read_base: ReadBase[BaseT],
        consistent: bool,
        undecodable: Undecodable,
    ) -> None:
        self._session = session
        self._context = context_of(session)
        self._items = items
        self._key = key
        self._merge = merge
        self._read_base = read_base
        self._consistent = consistent
        self._undecodable: Undecodable = undecodable
        # In the process there is nothing to wait for, so tasks would only cost.
        self._in_parallel = self._context.capabilities is not EMBEDDED

    async def get(self, /, **fields: Any) -> BaseT | None:
        """The base item with this key, as newer items of the overlay show it; None if there is no base item."""
        base, items = await self._read(fields, self._path(fields))
        return None if base is None else self._shown(base, items)

    async def get_with(self, beside: type[OtherT], /, **fields: Any) -> tuple[BaseT, list[OtherT]] | None:
        """As `get`, with the items of another class that are in the partition of the overlay's items: the same Query
        reads both. They are not merged, and the overlay's TTL and times do not concern them."""
        base, items = await self._read(fields, self._path(fields).of_all_classes())
        if base is None:
            return None
        over = [each for each in items if isinstance(each, self._items)]
        return self._shown(base, over), [each for each in items if isinstance(each, beside)]

    def _shown(self, base: BaseT, over: list[OverT]) -> BaseT:
        shown: BaseT = self._merge(base, over, self._context.moment)
        return shown

    async def _read(self, fields: dict[str, Any], path: AccessPath[OtherT]) -> tuple[BaseT | None, list[OtherT]]:
        if self._in_parallel:
            return await self._read_both(fields, path)
        base = await self._read_base(**fields)
        return base, [] if base is None else await self._read_overlay(path)

    async def _read_both(self, fields: dict[str, Any], path: AccessPath[OtherT]) -> tuple[BaseT | None, list[OtherT]]:
        try:
            async with asyncio.TaskGroup() as tasks:
                over = tasks.create_task(self._read_overlay(path))
                base = await self._read_base(**fields)
        except BaseExceptionGroup as errors:
            # The other read was cancelled because of the first error.
            raise errors.exceptions[0] from None
        return base, over.result()

    async def _read_overlay(self, path: AccessPath[OtherT]) -> list[OtherT]:
        read = self._session.iterate(path, consistent=self._consistent, undecodable=self._undecodable)
        return [item async for item in read]

    def _path(self, fields: dict[str, Any]) -> AccessPath[OverT]:
        return self._key(**{name: fields[name] for name in self._key.layout.partition_fields if name in fields})


class ReplacedPart(NamedTuple):
    """The field of the base whose elements are replaced, and the field that tells them apart."""

    field: str
    by: str


class OverlayMerge:
    def __init__(
        self,
        newer: str,
        than: str,
        replaced: Mapping[str, str | Callable[..., Any]],
        part: ReplacedPart | None,
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

    def _replace_each(self, base: Any, part: ReplacedPart, newest: Mapping[Hashable, Any]) -> Any:
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
    if annotation.declared is not RealTypes.datetime or annotation.optional:
        raise DeclarationError(
            f"{codec.struct.__name__}.{name} must be a datetime, since instants are compared, not {_shown(annotation)}"
        )


def _require_field(codec: Codec, name: str) -> None:
    if name not in codec.by_name:
        raise DeclarationError(f"{codec.struct.__name__} has no field {name!r}{suggestion(name, codec.by_name)}")


def _element(here: Codec, base: Codec, part: ReplacedPart) -> Codec:
    """The codec of the elements of a list or a dict."""
    _require_field(base, part.field)
    _require_field(here, part.by)
    declared = base.by_name[part.field].annotation.declared
    origin, arguments = get_origin(declared), get_args(declared)
    if origin not in (list, dict) or not is_record(arguments[-1]) or base.by_name[part.field].annotation.optional:
        raise DeclarationError(
            f"{base.struct.__name__}.{part.field} must be a list or a dict of items, as list[Goal], not "
            f"{type_name(declared)}"
        )
    element = codec_of(arguments[-1])
    if origin is list:
        _require_field(element, part.by)
        _require_same_type(element, part.by, here, part.by)
    elif arguments[0] is not here.by_name[part.by].annotation.declared:
        raise DeclarationError(
            f"the keys of {base.struct.__name__}.{part.field} are {type_name(arguments[0])}, and "
            f"{here.struct.__name__}.{part.by} is {type_name(here.by_name[part.by].annotation.declared)}"
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
    return f"{type_name(annotation.declared)}{' or None' if annotation.optional else ''}"

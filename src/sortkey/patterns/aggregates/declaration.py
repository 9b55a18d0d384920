"""`sk.patterns.aggregate`: what is counted, by which fields, in which windows, into which items.

A declaration sends nothing; `Aggregator` applies changes by it. All mistakes are rejected at import.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import NODEFAULT

from sortkey.model.changes.conditions import Where
from sortkey.model.errors import DeclarationError, suggestion
from sortkey.model.items.item import Item, schema_of
from sortkey.model.items.schema import Schema
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.pattern_steps import context_of
from sortkey.patterns.aggregates.aggregator import Aggregator
from sortkey.patterns.aggregates.shares import By, CountedSource
from sortkey.patterns.aggregates.target import Target
from sortkey.patterns.aggregates.values import Extreme, Kept, Sum
from sortkey.patterns.aggregates.windows import AnyWindow, KeptGroups

_STREAM: Final = "NEW_AND_OLD_IMAGES"


class Aggregate:
    """A declared aggregate: see `sk.patterns.aggregate`."""

    def __init__(
        self,
        counted: type[Item],
        into: type[Item],
        by: By,
        window: AnyWindow | None,
        values: Mapping[str, Kept],
        where: Where | None,
        checkpoints: str,
        keep: Callable[[dict[str, Any]], datetime | None] | None,
        keep_expired: bool,
    ) -> None:
        self.counted = counted
        self.into = into
        self.window = window
        self.values = dict(values)
        self._checkpoints = checkpoints
        schema = schema_of(into)
        group = (*by, *(() if window is None else window.fields))
        _check_stream(counted)
        _check_target(schema, group, self.values)
        _check_keep(schema, window, keep)
        if keep_expired:
            _check_expiring(counted)
        _check_values(schema_of(counted), schema, self.values)
        _check_group(schema_of(counted), schema, by)
        _check_checkpoints(schema, checkpoints)
        self._keep = None if keep is None else KeptGroups(group, keep)
        self._keep_expired = keep_expired
        self.source = CountedSource(counted, schema, by, window, self.values, self._keep, keep_expired)
        self.source.only(where)
        self.group = group
        self._target(schema)

    def __repr__(self) -> str:
        return f"<aggregate of {self.counted.__name__} into {self.into.__name__} by {', '.join(self.group)}>"

    def aggregator(self, session: AsyncSession, *, parallel: int | None = None) -> Aggregator:
        """The aggregate in a store, whose `on_changes` takes the changes of a feed. It sends up to `parallel` writes at
        the same time: by default 32, or 512 to a store of this process, where they share commits."""
        if not isinstance(session, AsyncSession):
            raise TypeError(f"an aggregator needs an open session, of sk.async_connect, not {session!r}")
        return Aggregator(self.source, self._target(context_of(session).schema(self.into)), session, parallel)

    def _target(self, schema: Schema[Any]) -> Target:
        return Target(schema, self.group, self.values, self.window, self._checkpoints, self._keep, self._keep_expired)


def aggregate(
    counted: type[Item],
    *,
    into: type[Item],
    by: Sequence[str] | Mapping[str, str | Callable[[Any], Any]],
    values: Mapping[str, Kept],
    window: AnyWindow | None = None,
    where: Where | None = None,
    checkpoints: str = "m",
    keep: Callable[[dict[str, Any]], datetime | None] | None = None,
    keep_expired: bool = False,
) -> Aggregate:
    """Declares values that a change feed keeps for the items of a class: their number, and totals and extremes of their
    fields, by other fields and by windows of time. Each change counts exactly once, however often it is delivered.

        counts = sk.patterns.aggregate(
            Favourite,
            into=FavouriteCount,
            by=("restaurant",),
            window=sk.patterns.window("since", "ALL_TIME", "DAY"),
            values={"count": sk.patterns.count()},
        )

    `by` are the fields that the items of `into` have in their key, besides the window; a mapping takes each from
    another field, or from a function of the item. An item for which one of them is None is not counted, and neither is
    one that does not match `where`. `values` says what the other fields of `into` hold. The items of `into` have
    further attributes, the checkpoints of what they have counted, which begin with `checkpoints` and a colon: two
    aggregates in the same items need different ones.

    With `keep_expired`, items that their table's TTL deletes stay counted. `keep` is for groups by a function, such as
    quarters: it takes the fields of the key, and returns until when the item is kept, or None for ever; the same fields
    must always give the same time. Windows have a `keep` of their own. See docs/guides/aggregates.md.
    """
    fields = dict(by) if isinstance(by, Mapping) else {name: name for name in _names(by)}
    return Aggregate(counted, into, fields, window, values, where, checkpoints, keep, keep_expired)


def _names(by: Sequence[str]) -> Sequence[str]:
    if isinstance(by, str):
        raise DeclarationError(f"by= takes several fields, such as ({by!r},), not a text")
    return by


def _check_stream(counted: type[Item]) -> None:
    table = counted.__table__ if hasattr(counted, "__table__") else None
    if table is not None and table.settings.stream != _STREAM:
        raise DeclarationError(
            f"the aggregate of {counted.__name__} needs a stream of its table with the items before and after each "
            f'change: sk.Table("{table.name}", stream="{_STREAM}")'
        )


def _check_expiring(counted: type[Item]) -> None:
    table = counted.__table__ if hasattr(counted, "__table__") else None
    if table is not None and table.settings.ttl is None:
        raise DeclarationError(
            f"keep_expired counts items of {counted.__name__} that have expired, and its table has no ttl field: "
            f'sk.Table("{table.name}", ttl="expires")'
        )


def _check_keep(schema: Schema[Any], window: AnyWindow | None, keep: Any) -> None:
    if keep is not None and not callable(keep):
        raise DeclarationError(
            f"keep= takes a function, from the fields of the key to the time until which the item is kept, not {keep!r}"
        )
    if keep is not None and window is not None and window.keep:
        raise DeclarationError("keep= is given twice, by the window and by the aggregate; one of them must be left out")
    if (keep is not None or (window is not None and window.keep)) and schema.codec.ttl_field is None:
        raise DeclarationError(
            f"keep= lets items of {schema.name} expire, so its table needs a ttl field: "
            f'sk.Table("{schema.table}", ttl="expires")'
        )


def _check_target(schema: Schema[Any], group: Sequence[str], values: Mapping[str, Kept]) -> None:
    fields = schema.codec.by_name
    for name in (*group, *values):
        if name not in fields:
            raise DeclarationError(f"{schema.name} has no field {name!r}{suggestion(name, fields)}")
    if schema.version > 1 or schema.tag is not None:
        kind = "a tag" if schema.tag is not None else "versions"
        raise DeclarationError(f"{schema.name} has {kind}; the items of an aggregate are written without being read")
    if set(group) != set(schema.primary.fields) or len(set(group)) < len(group):
        raise DeclarationError(
            f"the key of {schema.name} has {', '.join(schema.primary.fields)}, and the aggregate has one item for each "
            f"{', '.join(group) or 'nothing'}; by= and the window must be exactly the fields of the key"
        )
    if not values:
        raise DeclarationError(
            f"an aggregate into {schema.name} needs values, such as {{'count': sk.patterns.count()}}"
        )
    others = schema.codec.required - {*group, *values}
    lacking = [name for name in others if schema.codec.if_absent(name) is NODEFAULT]
    if lacking:
        raise DeclarationError(
            f"{schema.name}.{min(lacking)} has no default, and the aggregate does not know its value"
        )


def _check_group(source: Schema[Any], target: Schema[Any], by: By) -> None:
    known = source.codec.by_name
    for name, read in by.items():
        if not isinstance(read, str) or read not in known:
            continue
        here, there = target.codec.by_name[name].annotation.declared, known[read].annotation.declared
        if here != there:
            raise DeclarationError(
                f"{target.name}.{name} is {here}, and {source.name}.{read}, which it is taken from, is {there}"
            )


def _check_values(source: Schema[Any], target: Schema[Any], values: Mapping[str, Kept]) -> None:
    flags = [value.flag(name) for name, value in values.items() if isinstance(value, Extreme)]
    if len({*flags, *values}) < len(flags) + len(values):
        raise DeclarationError(f"{target.name}: each extreme needs a field of its own that says whether it is exact")
    for name, value in values.items():
        field = target.codec.by_name[name]
        default = target.codec.if_absent(name)
        if name in target.primary.fields:
            raise DeclarationError(f"{target.name}.{name} is in the key, so it cannot be {value!r}")
        try:
            if isinstance(value, Extreme):
                value.check(source.codec, target.codec, name)
                continue
            if not isinstance(value, Sum):
                raise DeclarationError(
                    "takes sk.patterns.count(), sk.patterns.total(…), sk.patterns.minimum(…) or sk.patterns.maximum(…)"
                    f", not {value!r}"
                )
            value.check(source.codec, field.annotation)
            if default is not NODEFAULT and default is not None and default:
                raise DeclarationError(f"has the default {default!r}, but an aggregate starts from 0")
        except DeclarationError as error:
            raise DeclarationError(f"{target.name}.{name} {error}") from None


def _check_checkpoints(schema: Schema[Any], checkpoints: str) -> None:
    taken = [name for name in schema.declared if name.startswith(f"{checkpoints}:")]
    if not checkpoints or taken:
        raise DeclarationError(
            f"checkpoints={checkpoints!r} must be the beginning of attributes that {schema.name} does not have "
            "otherwise"
        )

"""`sk.patterns.bounded`: a field of an item, a set, that never has more than N members.

Each change is one UpdateItem, and its condition decides:

    ADD #pins :member        if  attribute_exists(#pk) AND NOT contains(#pins, :one) AND size(#pins) < :limit
    DELETE #pins :member     if  attribute_exists(#pk) AND contains(#pins, :one)

The answer has the set as the update left it; the error of a failed condition has the set as it was. So the outcome and
the size are of one moment, and nothing is read for them.
"""

from __future__ import annotations

from collections.abc import Coroutine
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar, overload

from sortkey.model.changes.conditions import Condition
from sortkey.model.changes.operators import FieldChange
from sortkey.model.changes.typed_field import F, FieldName, field_name, field_of
from sortkey.model.errors import ConditionFailed, DeclarationError, ItemMissing, suggestion
from sortkey.model.items.codec import Row
from sortkey.model.items.containers import is_set
from sortkey.model.items.item import Item, schema_of
from sortkey.model.paths.access_path import AccessPath
from sortkey.model.paths.arguments import require_path
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.conditional_writes import carry_out
from sortkey.model.sessions.either_session import run_in
from sortkey.model.sessions.item_decoder import decode_written
from sortkey.model.sessions.steps import Context, Steps
from sortkey.model.sessions.sync_session import Session
from sortkey.model.sessions.updates import Update
from sortkey.patterns.bounded_sets.answer import Bounded, require_limit

ItemT = TypeVar("ItemT", bound=Item)


class _Result(NamedTuple):
    """Whether the set was changed, and its members afterwards."""

    is_changed: bool
    members: AbstractSet[Any]


class BoundedSet(Generic[ItemT]):
    """A declared bounded set: see `sk.patterns.bounded`."""

    def __init__(self, cls: type[ItemT], field: str, limit: int) -> None:
        self.cls = cls
        self.field = field
        self.limit = limit
        self._codec = schema_of(cls).codec
        self._set: F[Any] = field_of(cls, field)
        self._metered = f"bounded {cls.__name__}.{field}"

    def __repr__(self) -> str:
        return f"<bounded set {self.cls.__name__}.{self.field}: at most {self.limit} members>"

    @overload
    def add(self, db: Session, path: AccessPath[ItemT], member: Any) -> Bounded: ...
    @overload
    def add(self, db: AsyncSession, path: AccessPath[ItemT], member: Any) -> Coroutine[Any, Any, Bounded]: ...
    def add(
        self, db: Session | AsyncSession, path: AccessPath[ItemT], member: Any
    ) -> Bounded | Coroutine[Any, Any, Bounded]:
        """Add a member to the set of one item; the outcome is `added`, `present` or `full`. Raises ItemMissing if there
        is no item."""
        return run_in(db, partial(self._add, path=path, member=member))

    @overload
    def remove(self, db: Session, path: AccessPath[ItemT], member: Any) -> Bounded: ...
    @overload
    def remove(self, db: AsyncSession, path: AccessPath[ItemT], member: Any) -> Coroutine[Any, Any, Bounded]: ...
    def remove(
        self, db: Session | AsyncSession, path: AccessPath[ItemT], member: Any
    ) -> Bounded | Coroutine[Any, Any, Bounded]:
        """Remove a member; the outcome is `removed` or `absent`. Raises ItemMissing if there is no item."""
        return run_in(db, partial(self._remove, path=path, member=member))

    def _add(self, context: Context, *, path: AccessPath[ItemT], member: Any) -> Steps[Bounded]:
        members = self._set
        allowed = ~members.contains(member) & (members.size < self.limit)
        shown = self._shown(member)
        result = yield from self._change(context, path, members.add({member}), allowed)
        if result.is_changed:
            return Bounded("added", len(result.members))
        return Bounded("present" if shown in result.members else "full", len(result.members))

    def _remove(self, context: Context, *, path: AccessPath[ItemT], member: Any) -> Steps[Bounded]:
        members = self._set
        result = yield from self._change(context, path, members.delete({member}), members.contains(member))
        return Bounded("removed" if result.is_changed else "absent", len(result.members))

    def _shown(self, member: Any) -> Any:
        """A member as an item shows it: a codec may read another value than it was given to write. Raises EncodeError
        for what the set cannot have."""
        (shown,) = self._codec.by_name[self.field].decode(self._codec.encode_field(self.field, {member}) or {})
        return shown

    def _change(
        self, context: Context, path: AccessPath[ItemT], change: FieldChange, condition: Condition
    ) -> Steps[_Result]:
        require_path(path)
        if not issubclass(path.schema.owner, self.cls):
            raise TypeError(f"{self!r} is in the items of {self.cls.__name__}, not in {path!r}")
        write = Update(context.adapt(path), change, condition)
        write.metered = self._metered
        try:
            _, answer = yield from carry_out(context, write, returning="ALL_NEW")
        except ItemMissing:
            raise
        except ConditionFailed as error:
            if not isinstance(error.item, self.cls):
                # The key is that of an item of another class.
                raise
            return _Result(False, getattr(error.item, self.field))
        row: Row = answer["Attributes"]
        item = decode_written(write.schema, row, path, "was updated")
        return _Result(True, getattr(item, self.field))


def bounded(cls: type[ItemT], field: FieldName, *, limit: int) -> BoundedSet[ItemT]:
    """Declares that a set of each item of a class has at most `limit` members. Members are added and removed by one
    conditional write each, whose answer is true however many programs write at once.

        pins = sk.patterns.bounded(PinBoard, "pins", limit=100)
        pins.add(db, PinBoard.key(user="ada"), "post-7")  # sk.patterns.Bounded(outcome="added", size=1)

    With an async session, the calls are awaited. The item must exist. What other calls write to the field is not
    limited. See docs/patterns.md.
    """
    name = field_name(field)
    schema = schema_of(cls)
    if name not in schema.codec.by_name:
        raise DeclarationError(f"{schema.name} has no field {name!r}{suggestion(name, schema.codec.by_name)}")
    what = f"the bounded set {schema.name}.{name}"
    if not is_set(schema.codec.by_name[name].annotation):
        raise DeclarationError(f"{what}: the field must be a set, such as set[str]")
    if schema.codec.if_absent(name):
        raise DeclarationError(f"{what}: the default has members; a bounded set is empty at first")
    require_limit(what, limit)
    return BoundedSet(cls, name, limit)

"""`sk.bounded`: a field of an item, a set, that never has more than N members.

Each change is one UpdateItem, and its condition decides:

    ADD #pins :member        if  attribute_exists(#pk) AND NOT contains(#pins, :one) AND size(#pins) <= :most
    DELETE #pins :member     if  attribute_exists(#pk) AND contains(#pins, :one)

The answer has the set as the update left it; the error of a failed condition has the set as it was. So the outcome and
the size are of one moment, and nothing is read for them.
"""

from __future__ import annotations

from collections.abc import Coroutine
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar, overload

from sortkey.model.changes.combination import Where
from sortkey.model.changes.conditions import contains, sized
from sortkey.model.changes.operators import add, discard
from sortkey.model.changes.place_changes import Changes
from sortkey.model.changes.typed_field import FieldName
from sortkey.model.errors import ConditionFailed, DeclarationError, ItemMissing, suggestion
from sortkey.model.items.containers import is_set
from sortkey.model.items.item import Item, schema_of
from sortkey.model.paths.access_path import Path
from sortkey.model.paths.arguments import require_path
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.either_session import run_in
from sortkey.model.sessions.steps import Context, Steps
from sortkey.model.sessions.sync_session import Session
from sortkey.model.sessions.updates import update
from sortkey.patterns.bounded.answer import Bounded, require_limit

ItemT = TypeVar("ItemT", bound=Item)


class _Result(NamedTuple):
    """Whether the set was changed, and its members afterwards."""

    is_changed: bool
    members: AbstractSet[Any]


class BoundedSet(Generic[ItemT]):
    """A declared bounded set: see `sk.bounded`."""

    def __init__(self, cls: type[ItemT], field: str, limit: int) -> None:
        self.cls = cls
        self.field = field
        self.limit = limit

    def __repr__(self) -> str:
        return f"<bounded set {self.cls.__name__}.{self.field}: at most {self.limit} members>"

    @overload
    def add(self, db: Session, path: Path[ItemT], member: Any) -> Bounded: ...
    @overload
    def add(self, db: AsyncSession, path: Path[ItemT], member: Any) -> Coroutine[Any, Any, Bounded]: ...
    def add(self, db: Session | AsyncSession, path: Path[ItemT], member: Any) -> Bounded | Coroutine[Any, Any, Bounded]:
        """Add a member to the set of one item; the outcome is `added`, `present` or `full`. Raises ItemMissing if there
        is no item."""
        return run_in(db, partial(self._add, path=path, member=member))

    @overload
    def remove(self, db: Session, path: Path[ItemT], member: Any) -> Bounded: ...
    @overload
    def remove(self, db: AsyncSession, path: Path[ItemT], member: Any) -> Coroutine[Any, Any, Bounded]: ...
    def remove(
        self, db: Session | AsyncSession, path: Path[ItemT], member: Any
    ) -> Bounded | Coroutine[Any, Any, Bounded]:
        """Remove a member; the outcome is `removed` or `absent`. Raises ItemMissing if there is no item."""
        return run_in(db, partial(self._remove, path=path, member=member))

    def _add(self, context: Context, *, path: Path[ItemT], member: Any) -> Steps[Bounded]:
        where = {self.field: ~contains(member) & sized(at_most=self.limit - 1)}
        is_changed, members = yield from self._change(context, path, {self.field: add({member})}, where)
        if is_changed:
            return Bounded("added", len(members))
        return Bounded("present" if self._as_shown(member) in members else "full", len(members))

    def _remove(self, context: Context, *, path: Path[ItemT], member: Any) -> Steps[Bounded]:
        where = {self.field: contains(member)}
        is_changed, members = yield from self._change(context, path, {self.field: discard({member})}, where)
        return Bounded("removed" if is_changed else "absent", len(members))

    def _change(self, context: Context, path: Path[ItemT], changes: Changes, where: Where) -> Steps[_Result]:
        require_path(path)
        if not issubclass(path.schema.owner, self.cls):
            raise TypeError(f"{self!r} is in the items of {self.cls.__name__}, not in {path!r}")
        try:
            item = yield from update(context, path, changes, where)
        except ItemMissing:
            raise
        except ConditionFailed as error:
            if not isinstance(error.item, self.cls):
                # The key is that of an item of another class.
                raise
            return _Result(False, getattr(error.item, self.field))
        return _Result(True, getattr(item, self.field))

    def _as_shown(self, member: Any) -> Any:
        """The member as an item shows it: a codec may read another value than it has written."""
        field = schema_of(self.cls).codec.by_name[self.field]
        (shown,) = field.decode(field.encode({member}))
        return shown


def bounded(cls: type[ItemT], field: FieldName, *, limit: int) -> BoundedSet[ItemT]:
    """Declares that a set of each item of a class has at most `limit` members. Members are added and removed by one
    conditional write each, whose answer is true however many programs write at once.

        pins = sk.bounded(PinBoard, "pins", limit=100)
        pins.add(db, PinBoard.key(user="ada"), "post-7")  # sk.Bounded(outcome="added", size=1)

    With an async session, the calls are awaited. The item must exist. What other calls write to the field is not
    limited. See docs/patterns.md.
    """
    name = field if isinstance(field, str) else field.name
    schema = schema_of(cls)
    if name not in schema.codec.by_name:
        raise DeclarationError(f"{schema.name} has no field {name!r}{suggestion(name, schema.codec.by_name)}")
    what = f"the bounded set {schema.name}.{name}"
    if not is_set(schema.codec.by_name[name].annotation):
        raise DeclarationError(f"{what}: the field must be a set, such as set[str]")
    require_limit(what, limit)
    return BoundedSet(cls, name, limit)

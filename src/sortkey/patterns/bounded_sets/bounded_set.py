"""`sk.patterns.bounded`: a field of an item, a set, that never has more than N members.

Each change is one UpdateItem, and its condition decides:

    ADD #pins :member        if  attribute_exists(#pk) AND NOT contains(#pins, :one) AND size(#pins) <= :most
    DELETE #pins :member     if  attribute_exists(#pk) AND contains(#pins, :one)

and in both, attribute_type(#pins, :set), since other types have a size and elements, too, but cannot be changed so.

The answer has the set as the update left it; the error of a failed condition has the set as it was. So the outcome and
the size are of one moment, and nothing is read for them. `stored_members.py` says what is done about members that other
programs have stored in other forms.
"""

from __future__ import annotations

from collections.abc import Coroutine
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar, overload

from sortkey.model.calls.conditional_writes import carry_out
from sortkey.model.calls.item_decoder import decode_written
from sortkey.model.calls.steps import Context, Steps
from sortkey.model.calls.updates import Update
from sortkey.model.changes.condition import Condition
from sortkey.model.changes.conditions import contains, sized
from sortkey.model.changes.operators import Operator, add, discard
from sortkey.model.changes.typed_field import FieldName, field_name
from sortkey.model.errors import ConditionFailed, DeclarationError, ItemMissing, suggestion
from sortkey.model.items.codec import Field, Row
from sortkey.model.items.containers import is_set
from sortkey.model.items.converter import Value
from sortkey.model.items.item import Item, schema_of
from sortkey.model.paths.access_path import AccessPath
from sortkey.model.paths.arguments import require_path
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.pattern_steps import run_in
from sortkey.model.sessions.session import Session
from sortkey.patterns.bounded_sets.answer import Bounded, require_limit
from sortkey.patterns.bounded_sets.stored_members import AsStored, DiscardStored, as_shown, forms_of

ItemT = TypeVar("ItemT", bound=Item)


class _Result(NamedTuple):
    """Whether the stored set was changed, the members that the item shows afterwards, and the stored set if it was."""

    is_changed: bool
    members: AbstractSet[Any]
    stored: Value | None

    def has_other_form(self, field: Field, member: Any) -> bool:
        """Whether the set has a member that was added also in another form."""
        stored = self.stored or {}
        # Most sets have each member in one form.
        return sum(map(len, stored.values())) > len(self.members) and forms_of(field, stored, member) > 1


class BoundedSet(Generic[ItemT]):
    """A declared bounded set: see `sk.patterns.bounded`."""

    def __init__(self, cls: type[ItemT], field: str, limit: int) -> None:
        self.cls = cls
        self.field = field
        self.limit = limit
        self._codec = schema_of(cls).codec
        self._field = self._codec.by_name[field]
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
        allowed = ~contains(member) & sized(at_most=self.limit - 1)
        shown, tag = as_shown(self._codec, self.field, member)
        result = yield from self._change(context, path, add({member}), AsStored(allowed, tag))
        if result.is_changed and result.has_other_form(self._field, shown):
            # The item showed the member before. It still does, and shows no more than before.
            return Bounded("present", len(result.members))
        if not result.is_changed and shown not in result.members and len(result.members) < self.limit:
            # The store has counted several forms of one member.
            result = yield from self._change(context, path, add({member}), allowed)
        if result.is_changed:
            return Bounded("added", len(result.members))
        return Bounded("present" if shown in result.members else "full", len(result.members))

    def _remove(self, context: Context, *, path: AccessPath[ItemT], member: Any) -> Steps[Bounded]:
        shown, tag = as_shown(self._codec, self.field, member)
        result = yield from self._change(context, path, DiscardStored({member}), AsStored(contains(member), tag))
        if shown in result.members:
            # It is stored in another form, too, or in another form only.
            result = yield from self._change(context, path, discard({member}), contains(member))
        return Bounded("removed" if result.is_changed else "absent", len(result.members))

    def _change(
        self, context: Context, path: AccessPath[ItemT], change: Operator, condition: Condition
    ) -> Steps[_Result]:
        require_path(path)
        if not issubclass(path.schema.owner, self.cls):
            raise TypeError(f"{self!r} is in the items of {self.cls.__name__}, not in {path!r}")
        write = Update(context.adapt(path), {self.field: change}, {self.field: condition})
        write.metered = self._metered
        try:
            _, answer = yield from carry_out(context, write, returning="ALL_NEW")
        except ItemMissing:
            raise
        except ConditionFailed as error:
            if not isinstance(error.item, self.cls):
                # The key is that of an item of another class.
                raise
            return _Result(False, getattr(error.item, self.field), None)
        row: Row = answer["Attributes"]
        item = decode_written(write.schema, row, path, "was updated")
        return _Result(True, getattr(item, self.field), row.get(self._field.attribute))


def bounded(cls: type[ItemT], field: FieldName, *, limit: int) -> BoundedSet[ItemT]:
    """Declares that a set of each item of a class has at most `limit` members. Members are added and removed by one
    conditional write each, whose answer is true however many programs write at once.

        pins = sk.patterns.bounded(PinBoard, "pins", limit=100)
        pins.add(db, PinBoard.key(user="ada"), "post-7")  # sk.patterns.Bounded(outcome="added", size=1)

    With an async session, the calls are awaited. The item must exist. What other calls write to the field is not
    limited. See docs/guides/patterns.md.
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

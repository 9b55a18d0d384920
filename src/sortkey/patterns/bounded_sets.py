"""Bounded collections: `sk.patterns.bounded`, a set in an item, and `sk.patterns.bounded_rows`, rows of a parent.

**A bounded set** is a field of an item that never has more than N members. Each change is one UpdateItem, and its
condition decides:

    ADD #pins :member        if  attribute_exists(#pk) AND NOT contains(#pins, :one) AND size(#pins) < :limit
    DELETE #pins :member     if  attribute_exists(#pk) AND contains(#pins, :one)

and in both, that it is a set or absent.

The answer has the set as the update left it; the error of a failed condition has the set as it was. So the outcome and
the size are of one moment, and nothing is read for them.

Several members are added by one UpdateItem, too, all of them or none. Its condition is that they fit even if all are
new. If they do not, some may be members already: the error's set tells which, and a second request has the condition
that these still are members, and that the others fit.

**Bounded rows** are for collections that are too large for one item. Each change is one transaction of two writes, of
the row and of the parent's count:

    Put row          if  it does not exist          Delete row       if  it exists
    ADD count 1      if  0 <= count < N             ADD count -1     if  count > 0

A transaction returns nothing of what it has written, so the size is read afterwards. If a condition failed, one
transaction reads the row and its parent together: the outcome and the size are of one moment. If that moment would
allow the change, others were quicker, and the change is tried again. A count that cannot be right, because rows were
written without it, is an error: every change of it would let in too many rows, or too few.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, Literal, NamedTuple, TypeVar, overload

from msgspec import NODEFAULT

from sortkey.model.calls.arguments import require_item, require_path
from sortkey.model.calls.conditional_writes import Prepared, carry_out
from sortkey.model.calls.item_decoder import decode_written
from sortkey.model.calls.lookups import get, get_many
from sortkey.model.calls.steps import Context, Steps
from sortkey.model.calls.transaction import Action, Transaction, transact
from sortkey.model.calls.updates import Update
from sortkey.model.calls.writes import DeleteOrCheck
from sortkey.model.changes.conditions import Condition, FieldCondition, FieldTest
from sortkey.model.changes.operators import FieldChange
from sortkey.model.changes.placeholders import Placeholders
from sortkey.model.changes.typed_field import FieldName, field_name, field_of
from sortkey.model.errors import (
    ConditionFailed,
    DeclarationError,
    DecodeError,
    ItemMissing,
    TransactionFailed,
    suggestion,
    type_name,
)
from sortkey.model.fields.codec import Row
from sortkey.model.fields.converter import Value
from sortkey.model.fields.type_converter import is_set
from sortkey.model.items.access_path import AccessPath
from sortkey.model.items.item import Item, schema_of
from sortkey.model.items.schema import Schema
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.pattern_steps import run_in
from sortkey.model.sessions.session import Session

Outcome = Literal["added", "present", "full", "removed", "absent"]
ParentT = TypeVar("ParentT", bound=Item)
ChildT = TypeVar("ChildT", bound=Item)
ItemT = TypeVar("ItemT", bound=Item)

_CONDITION: Final = "ConditionalCheckFailed"
MAX_MEMBERS: Final = 100
"""In one call: an expression has 4 KB at most."""
Several = list[Any] | set[Any]
"""Members. Neither can be a member itself."""


@dataclass(frozen=True, slots=True)
class Bounded:
    """The answer of a bounded collection: `sk.patterns.Bounded(outcome="added", size=3)`."""

    outcome: Outcome
    """Of `add`: `added`, `present` (it was a member before) or `full`. Of `remove`: `removed` or `absent`."""
    size: int
    """The number of members, after the change if there was one."""


@dataclass(frozen=True, slots=True)
class BoundedMany:
    """The answer for several members: `sk.patterns.BoundedMany({"post-7": "added", "post-8": "present"}, size=2)`."""

    outcomes: dict[Any, Outcome]
    """Of each member, as `Bounded.outcome`. If there is no room for all, nothing is added: those that are no members
    are `full`."""
    size: int
    """The number of members, after the change if there was one."""


class _HasType(FieldTest):
    """The field is absent, or a set. Other types have a size and elements, too, but cannot be changed so: the condition
    fails, and the error names the row."""

    def __init__(self, tag: str) -> None:
        self._tag = tag

    def shown(self, name: str) -> str:
        return f"attribute_type({name}, {self._tag})"

    def text(self, _fields: Any, _name: str, path: str, placeholders: Placeholders) -> str:
        return f"attribute_type({path}, {placeholders.value({'S': self._tag})})"

    def holds(self, _fields: Any, _name: str, _shown: Value | None) -> bool:
        return True


class _Result(NamedTuple):
    """Whether the set was changed, and its members: afterwards, or before, as the call asked for."""

    is_changed: bool
    members: AbstractSet[Any]


class BoundedSet(Generic[ItemT]):
    """A declared bounded set: see `sk.patterns.bounded`."""

    def __init__(self, cls: type[ItemT], field: str, limit: int) -> None:
        self.cls = cls
        self.field = field
        self.limit = limit
        self._codec = schema_of(cls).codec
        self._set = field_of(cls, field)
        self._is_set = FieldCondition(self._set.name, _HasType(self._codec.by_name[field].tag))
        self._metered = f"bounded {cls.__name__}.{field}"

    def __repr__(self) -> str:
        return f"<bounded set {self.cls.__name__}.{self.field}: at most {self.limit} members>"

    @overload
    def add(self, db: Session, path: AccessPath[ItemT], member: Several) -> BoundedMany: ...
    @overload
    def add(self, db: AsyncSession, path: AccessPath[ItemT], member: Several) -> Coroutine[Any, Any, BoundedMany]: ...
    @overload
    def add(self, db: Session, path: AccessPath[ItemT], member: Any) -> Bounded: ...
    @overload
    def add(self, db: AsyncSession, path: AccessPath[ItemT], member: Any) -> Coroutine[Any, Any, Bounded]: ...
    def add(self, db: Session | AsyncSession, path: AccessPath[ItemT], member: Any) -> Any:
        """Add a member to the set of one item; the outcome is `added`, `present` or `full`. Of a list or set, all
        members are added or none, and each has its outcome. Raises ItemMissing if there is no item."""
        if isinstance(member, list | set):
            return run_in(db, partial(self._add_many, path=path, members=member))
        return run_in(db, partial(self._add, path=path, member=member))

    @overload
    def remove(self, db: Session, path: AccessPath[ItemT], member: Several) -> BoundedMany: ...
    @overload
    def remove(
        self, db: AsyncSession, path: AccessPath[ItemT], member: Several
    ) -> Coroutine[Any, Any, BoundedMany]: ...
    @overload
    def remove(self, db: Session, path: AccessPath[ItemT], member: Any) -> Bounded: ...
    @overload
    def remove(self, db: AsyncSession, path: AccessPath[ItemT], member: Any) -> Coroutine[Any, Any, Bounded]: ...
    def remove(self, db: Session | AsyncSession, path: AccessPath[ItemT], member: Any) -> Any:
        """Remove a member; the outcome is `removed` or `absent`. Of a list or set, those that are members are removed.
        Raises ItemMissing if there is no item."""
        if isinstance(member, list | set):
            return run_in(db, partial(self._remove_many, path=path, members=member))
        return run_in(db, partial(self._remove, path=path, member=member))

    def _add(self, context: Context, *, path: AccessPath[ItemT], member: Any) -> Steps[Bounded]:
        members = self._set
        allowed = ~members.contains(member) & (members.size < self.limit) & self._is_set
        shown = self._shown(member)
        result = yield from self._change(context, path, members.add({member}), allowed)
        if result.is_changed:
            return Bounded("added", len(result.members))
        return Bounded("present" if shown in result.members else "full", len(result.members))

    def _remove(self, context: Context, *, path: AccessPath[ItemT], member: Any) -> Steps[Bounded]:
        members = self._set
        result = yield from self._change(
            context, path, members.delete({member}), members.contains(member) & self._is_set
        )
        return Bounded("removed" if result.is_changed else "absent", len(result.members))

    def _add_many(self, context: Context, *, path: AccessPath[ItemT], members: Several) -> Steps[BoundedMany]:
        shown = self._all_shown(members)
        wanted = set(shown.values())
        present: AbstractSet[Any] = frozenset()
        attempt = 0
        while True:
            allowed: Condition = (self._set.size <= self.limit - len(wanted - present)) & self._is_set
            for member in (each for each, value in shown.items() if value in present):
                allowed &= self._set.contains(member)
            result = yield from self._change(context, path, self._set.add(set(members)), allowed, "ALL_OLD")
            before = result.members
            if result.is_changed:
                outcomes: dict[Any, Outcome] = {
                    each: "present" if value in before else "added" for each, value in shown.items()
                }
                return BoundedMany(outcomes, len(before | wanted))
            present = wanted & before
            if present == wanted or len(before | wanted) > self.limit:
                outcomes = {each: "present" if value in before else "full" for each, value in shown.items()}
                return BoundedMany(outcomes, len(before))
            # All of them fit by now. If the next attempt fails, others were quicker.
            if attempt:
                yield context.pacing.pause(attempt)
            attempt += 1

    def _remove_many(self, context: Context, *, path: AccessPath[ItemT], members: Several) -> Steps[BoundedMany]:
        shown = self._all_shown(members)
        result = yield from self._change(context, path, self._set.delete(set(members)), self._is_set, "ALL_OLD")
        before = result.members
        outcomes: dict[Any, Outcome] = {
            each: "removed" if value in before else "absent" for each, value in shown.items()
        }
        return BoundedMany(outcomes, len(before - set(shown.values())))

    def _all_shown(self, members: Several) -> dict[Any, Any]:
        """Each member as it was given, and as an item shows it."""
        if not 1 <= len(members) <= MAX_MEMBERS:
            raise ValueError(f"{self!r} takes 1 to {MAX_MEMBERS} members at a time, not {len(members)}")
        return {member: self._shown(member) for member in members}

    def _shown(self, member: Any) -> Any:
        """A member as an item shows it: a codec may read another value than it was given to write. Raises EncodeError
        for what the set cannot have."""
        (shown,) = self._codec.by_name[self.field].decode(self._codec.encode_field(self.field, {member}) or {})
        return shown

    def _change(
        self,
        context: Context,
        path: AccessPath[ItemT],
        change: FieldChange,
        condition: Condition,
        returning: Literal["ALL_NEW", "ALL_OLD"] = "ALL_NEW",
    ) -> Steps[_Result]:
        require_path(path)
        if not issubclass(path.schema.owner, self.cls):
            raise TypeError(f"{self!r} is in the items of {self.cls.__name__}, not in {path!r}")
        write = Update(context.adapt(path), change, condition)
        write.metered = self._metered
        try:
            _, answer = yield from carry_out(context, write, returning=returning)
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

    A list or set of members is added as a whole or not at all; the answer is an `sk.patterns.BoundedMany`. With an
    async session, the calls are awaited. The item must exist. What other calls write to the field is not limited. See
    docs/guides/bounded-sets.md.
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


class _DeletePresent(DeleteOrCheck):
    """A delete that fails if there is nothing to delete."""

    def __init__(self, path: AccessPath[Any]) -> None:
        super().__init__("Delete", path, None)

    def prepare(self, _row: Row | None) -> Prepared:
        placeholders = Placeholders()
        partition = placeholders.name(self.schema.primary.partition.name)
        members = {
            "TableName": self.path.table,
            "Key": self.key,
            "ConditionExpression": f"attribute_exists({partition})",
        }
        return Prepared("Delete", placeholders.added_to(members))


class _Change(NamedTuple):
    """One change: what it writes, and what it answers."""

    parent: AccessPath[Any]
    child: AccessPath[Any]
    transaction: Callable[[], Transaction]
    done: Outcome
    rejected: Callable[[bool, int], Outcome | None]
    """The outcome without a change, for whether the row exists and the count; None if both allow the change."""


class BoundedRows(Generic[ParentT, ChildT]):
    """Declared bounded rows: see `sk.patterns.bounded_rows`."""

    def __init__(
        self, parent: type[ParentT], count: str, child: type[ChildT], limit: int, by: Mapping[str, str]
    ) -> None:
        self.parent = parent
        self.count = count
        self.child = child
        self.limit = limit
        self._by = by
        self._metered = f"bounded {child.__name__}"

    def __repr__(self) -> str:
        counted = f"{self.parent.__name__}.{self.count}"
        return f"<bounded rows {self.child.__name__}, counted in {counted}: at most {self.limit}>"

    @overload
    def add(self, db: Session, item: ChildT) -> Bounded: ...
    @overload
    def add(self, db: AsyncSession, item: ChildT) -> Coroutine[Any, Any, Bounded]: ...
    def add(self, db: Session | AsyncSession, item: ChildT) -> Bounded | Coroutine[Any, Any, Bounded]:
        """Put a row and count it in its parent; the outcome is `added`, `present` (the stored row stays as it is) or
        `full`. Raises ItemMissing if there is no parent, and ConditionFailed if its count is below 0."""
        return run_in(db, partial(self._add, item=item))

    @overload
    def remove(self, db: Session, path: AccessPath[ChildT]) -> Bounded: ...
    @overload
    def remove(self, db: AsyncSession, path: AccessPath[ChildT]) -> Coroutine[Any, Any, Bounded]: ...
    def remove(self, db: Session | AsyncSession, path: AccessPath[ChildT]) -> Bounded | Coroutine[Any, Any, Bounded]:
        """Delete a row and count it out; the outcome is `removed` or `absent`. Raises ItemMissing if there is no
        parent, and ConditionFailed if the parent counts no rows although this one is there."""
        return run_in(db, partial(self._remove, path=path))

    def parent_of(self, path: AccessPath[ChildT]) -> AccessPath[ParentT]:
        """The path of the parent that counts a row."""
        given = {field: path.given[source] for field, source in self._by.items()}
        made: AccessPath[ParentT] = getattr(self.parent, schema_of(self.parent).primary.name)(**given)
        return made

    def _add(self, context: Context, *, item: ChildT) -> Steps[Bounded]:
        require_item(item)
        if type(item) is not self.child:
            raise TypeError(f"{self!r} takes items of {self.child.__name__}, not {item!r}")
        child: AccessPath[ChildT] = getattr(self.child, schema_of(self.child).primary.name).of(item)
        parent = self.parent_of(child)

        def made() -> Transaction:
            transaction = Transaction()
            transaction.put(item, if_absent=True)
            count = field_of(self.parent, self.count)
            transaction.update(parent, [count.add(1)], where=(count >= 0) & (count < self.limit))
            return transaction

        def rejected(exists: bool, size: int) -> Outcome | None:
            return "present" if exists else "full" if size >= self.limit else None

        return (yield from self._carry_out(context, _Change(parent, child, made, "added", rejected)))

    def _remove(self, context: Context, *, path: AccessPath[ChildT]) -> Steps[Bounded]:
        require_path(path)
        if path.schema.owner is not self.child:
            raise TypeError(f"{self!r} removes items of {self.child.__name__}, not {path!r}")
        path.key()
        parent = self.parent_of(path)

        def made() -> Transaction:
            transaction = Transaction()
            transaction.actions.append(Action(_DeletePresent(path)))
            count = field_of(self.parent, self.count)
            transaction.update(parent, [count.add(-1)], where=count > 0)
            return transaction

        def rejected(exists: bool, _size: int) -> Outcome | None:
            return None if exists else "absent"

        return (yield from self._carry_out(context, _Change(parent, path, made, "removed", rejected)))

    def _carry_out(self, context: Context, change: _Change) -> Steps[Bounded]:
        context.require_transactions(repr(self), "use sk.patterns.bounded, a set in one item")
        attempt = 0
        while True:
            try:
                yield from transact(context, change.transaction(), self._metered)
            except TransactionFailed as error:
                if not {None, _CONDITION}.issuperset(error.reasons):
                    raise
            else:
                return Bounded(change.done, (yield from self._size(context, change)))
            answer = yield from self._rejected(context, change)
            if answer is not None:
                return answer
            yield context.pacing.pause(attempt)
            attempt += 1

    def _size(self, context: Context, change: _Change) -> Steps[int]:
        """The parent's count; 0 if the parent was deleted after the change."""
        try:
            parent = yield from get(context, change.parent, True)
        except DecodeError as error:
            done = f"{change.child!r} was {change.done}, but its {self.parent.__name__} cannot be decoded"
            raise DecodeError(f"{done}: {error}", key=error.key, written=True) from error
        return 0 if parent is None else getattr(parent, self.count)

    def _rejected(self, context: Context, change: _Change) -> Steps[Bounded | None]:
        """The answer if the change cannot be made; None if by now it can. Raises ItemMissing without a parent."""
        parent, child = yield from get_many(context, (change.parent, change.child), True, True)
        if parent is None:
            raise ItemMissing(f"{change.parent!r} does not exist")
        size = getattr(parent, self.count)
        if size < (0 if child is None else 1):
            although = "" if child is None else f", although {change.child!r} is there"
            raise ConditionFailed(
                f"{change.parent!r}.{self.count} is {size}{although}: rows were written without {self!r}. "
                f"Count the rows of this {self.parent.__name__}, and set {self.count} to their number",
                parent,
            )
        outcome = change.rejected(child is not None, size)
        return None if outcome is None else Bounded(outcome, size)


def bounded_rows(
    parent: type[ParentT],
    count: FieldName,
    child: type[ChildT],
    *,
    limit: int,
    by: Mapping[str, str] | None = None,
) -> BoundedRows[ParentT, ChildT]:
    """Declares that each item of `parent` has at most `limit` rows, items of `child`, which its field `count` counts.
    A row and its count change in one transaction, so they agree however many programs write at once.

        pictures = sk.patterns.bounded_rows(Album, "pictures", Picture, limit=50_000, by={"id": "album"})
        pictures.add(db, Picture(album="holidays", name="beach"))  # sk.patterns.Bounded(outcome="added", size=1)

    With an async session, the calls are awaited. The key of a row has the fields of its parent's key; `by` names those
    that are called otherwise. The parent must exist. The store must have transactions, or the call raises Unsupported.
    See docs/guides/bounded-sets.md.
    """
    counted, rows = schema_of(parent), schema_of(child)
    name = field_name(count)
    check_count(counted, name)
    check_rows(counted, rows)
    require_limit(f"the bounded rows of {parent.__name__}", limit)
    return BoundedRows(parent, name, child, limit, key_sources(counted, rows, by or {}))


def require_limit(what: str, limit: object) -> None:
    """Raises DeclarationError for a limit that is not a number of members."""
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise DeclarationError(f"{what}: limit= is the largest number of members, an int of at least 1, not {limit!r}")


def check_count(parent: Schema[Any], count: str) -> None:
    """Raises DeclarationError unless a field can count rows."""
    fields = parent.codec.by_name
    if count not in fields:
        raise DeclarationError(f"{parent.name} has no field {count!r}{suggestion(count, fields)}")
    annotation = fields[count].annotation
    if annotation.base is not int or annotation.optional:
        raise DeclarationError(f"{parent.name}.{count} counts rows, so it must be an int")
    if count in parent.primary.fields:
        raise DeclarationError(f"{parent.name}.{count} is part of the primary key, so it cannot count rows")
    default = parent.codec.if_absent(count)
    if default is not NODEFAULT and default != 0:
        raise DeclarationError(f"{parent.name}.{count} is {default} by default; a parent without rows must count 0")


def check_rows(parent: Schema[Any], child: Schema[Any]) -> None:
    """Raises DeclarationError for rows whose count could not be right."""
    if parent.owner is child.owner:
        raise DeclarationError(f"{child.name}: the parent and its rows must be of different classes")
    if child.tag is not None:
        raise DeclarationError(
            f"{child.name} has a tag: an item of another class may have the key of a row, and is not counted"
        )
    expires = child.codec.ttl_field
    if expires is not None:
        raise DeclarationError(
            f"{child.name}.{expires} lets rows expire, and {parent.name} would still count them; leave the field out"
        )


def key_sources(parent: Schema[Any], child: Schema[Any], by: Mapping[str, str]) -> dict[str, str]:
    """For each field of the parent's key, the field of the row's key that has its value. Raises DeclarationError."""
    for name in by:
        if name not in parent.primary.fields:
            raise DeclarationError(
                f"by= names {name!r}, which is not in the key of {parent.name}{suggestion(name, parent.primary.fields)}"
            )
    sources = {name: by.get(name, name) for name in parent.primary.fields}
    for name, source in sources.items():
        if source not in child.primary.fields:
            raise DeclarationError(
                f"the key of {child.name} has no {source!r}, so it does not tell the {name} of its {parent.name}; "
                f'name the field that does: by={{"{name}": …}}'
            )
        here, there = parent.codec.by_name[name].annotation.declared, child.codec.by_name[source].annotation.declared
        if here != there:
            raise DeclarationError(
                f"{parent.name}.{name} is {type_name(here)}, and {child.name}.{source}, which it is taken from, is "
                f"{type_name(there)}"
            )
    return sources

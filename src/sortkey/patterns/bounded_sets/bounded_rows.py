"""`sk.patterns.bounded_rows`: rows of a parent, at most N of them, for collections that are too large for one item.

Each change is one transaction of two writes, of the row and of the parent's count:

    Put row          if  it does not exist          Delete row       if  it exists
    ADD count 1      if  0 <= count < N             ADD count -1     if  count > 0

A transaction returns nothing of what it has written, so the size is read afterwards. If a condition failed, one
transaction reads the row and its parent together: the outcome and the size are of one moment. If that moment would
allow the change, others were quicker, and the change is tried again. A count that cannot be right, because rows were
written without it, is an error: every change of it would let in too many rows, or too few.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any, Final, Generic, NamedTuple, TypeVar, overload

from sortkey.model.calls.conditional_writes import Prepared
from sortkey.model.calls.get_many import get_many
from sortkey.model.calls.lookups import get
from sortkey.model.calls.steps import Context, Steps
from sortkey.model.calls.transaction import Action, Transaction, transact
from sortkey.model.calls.writes import DeleteOrCheck
from sortkey.model.changes.conditions import above, at_least, below
from sortkey.model.changes.operators import add
from sortkey.model.changes.placeholders import Placeholders
from sortkey.model.changes.typed_field import FieldName, field_name
from sortkey.model.errors import ConditionFailed, DecodeError, ItemMissing, TransactionFailed
from sortkey.model.items.codec import Row
from sortkey.model.items.item import Item, schema_of
from sortkey.model.paths.access_path import AccessPath
from sortkey.model.paths.arguments import require_item, require_path
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.pattern_steps import run_in
from sortkey.model.sessions.session import Session
from sortkey.patterns.bounded_sets.answer import Bounded, Outcome, require_limit
from sortkey.patterns.bounded_sets.rows_checks import check_count, check_rows, key_sources

ParentT = TypeVar("ParentT", bound=Item)
ChildT = TypeVar("ChildT", bound=Item)

_CONDITION: Final = "ConditionalCheckFailed"


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
            allowed = at_least(0) & below(self.limit)
            transaction.update(parent, {self.count: add(1)}, where={self.count: allowed})
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
            transaction.update(parent, {self.count: add(-1)}, where={self.count: above(0)})
            return transaction

        def rejected(exists: bool, _size: int) -> Outcome | None:
            return None if exists else "absent"

        return (yield from self._carry_out(context, _Change(parent, path, made, "removed", rejected)))

    def _carry_out(self, context: Context, change: _Change) -> Steps[Bounded]:
        context.require_transactions(repr(self))
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
    See docs/guides/patterns.md.
    """
    counted, rows = schema_of(parent), schema_of(child)
    name = field_name(count)
    check_count(counted, name)
    check_rows(counted, rows)
    require_limit(f"the bounded rows of {parent.__name__}", limit)
    return BoundedRows(parent, name, child, limit, key_sources(counted, rows, by or {}))

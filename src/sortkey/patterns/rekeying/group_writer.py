"""`GroupWriter`: writes the new rows of a group of old items, whoever asks and however often.

A *group* is all old items with the same leading key fields, often a single item. Its new rows follow from the group as
it is, and from nothing else: a change only says which group to look at, and so does the backfill. A group has a *note*
with a revision and the keys of its new rows. Whoever writes the group does so in this order:

    1. read the note, consistently
    2. read the old items, consistently, and derive the new rows from them
    3. in one transaction: put the new rows that differ, delete those that are no longer derived, and replace the note,
       on the condition that its revision is still that of step 1

So of two writers who meet, the one who commits last has read the note, and after it the old items, when the other one
had committed. It has seen whatever the other has seen. A change that was handled once is therefore in the new rows for
ever: not undone by a backfill that is late, by a redelivery, or by a process that was frozen, and a deleted item does
not come back. A writer whose condition fails starts again. The note is written even if no row differs: otherwise a
writer who has read the group before could still commit.

A group with more new rows than a transaction takes is written in several, each on the condition that the note has the
revision of this writer. The note names the rows before they are written. If the writer dies, its change is delivered
again, or the backfill goes on before it: and the next writer finishes, since it knows the rows from the note.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import msgspec

from sortkey.limits import BATCH_GET_KEYS, TRANSACTION_ACTIONS
from sortkey.model.calls.steps import Context, Steps
from sortkey.model.calls.transaction import Transaction
from sortkey.model.errors import ConditionFailed, ModelError, TransactionFailed
from sortkey.model.fields.attribute_values import comparable
from sortkey.model.fields.codec import Row
from sortkey.model.fields.converter import Value
from sortkey.model.items.access_path import AccessPath
from sortkey.model.items.item import Item, replace, schema_of
from sortkey.model.items.key import Key
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.pattern_steps import context_of, run_steps
from sortkey.patterns.rekeying.flag import REKEYS
from sortkey.patterns.rekeying.plan import Plan, key_of

MOST_BYTES: Final = 3_000_000
"""Of the rows of one transaction, which may have 4 MB."""
_WRITES: Final = TRANSACTION_ACTIONS - 1
"""Of a transaction, besides the note."""


class RekeyConflict(ModelError):
    """Two groups of old items have the same new row, or the row was there before. Nothing of the group was written."""


class GroupNote(Item, table=REKEYS):
    rekey: str
    group: str
    """The fields of the group."""
    rows: list[str] = msgspec.field(default_factory=list)
    """The keys of its new rows: those that exist, and while it is written also those that may."""
    source: list[str] = msgspec.field(default_factory=list)
    """A digest of each old item that the rows were derived from; not of inputs."""
    walk: str = ""
    """The last walk over all groups that has written it."""
    revision: int = 0

    key = Key("GROUP#{rekey}#{group}", "GROUP")


class Written(NamedTuple):
    """What writing a group has changed."""

    put: int
    deleted: int
    note: GroupNote

    @property
    def differed(self) -> bool:
        return bool(self.put or self.deleted)


class _Work(NamedTuple):
    note: GroupNote
    put: dict[str, Item]
    """By their keys."""
    delete: list[AccessPath[Any]]
    known: list[str]
    """The rows of the note as it was read."""


class GroupWriter:
    def __init__(self, session: AsyncSession, plan: Plan) -> None:
        self._session = session
        self._plan = plan
        self._context = context_of(session)
        self._context.require_transactions(
            f"re-keying {plan.name}", "copy the tables to a store that has them, and re-key there"
        )

    async def write(self, group: str, walk: str | None = None) -> Written:
        """Write the new rows of a group. `walk` marks it. Raises RekeyConflict, errors of the store, and what the
        program's function raises."""
        attempt = 0
        while True:
            note = await self.note(group)
            work = await self._work(note, walk)
            if work is not None and await self._commit(work):
                return Written(len(work.put), len(work.delete), work.note)
            await run_steps(self._session, _pause(self._context, attempt))
            attempt += 1

    async def note(self, group: str) -> GroupNote:
        found = await self._session.get(GroupNote.key(rekey=self._plan.name, group=group), consistent=True)
        return found or GroupNote(rekey=self._plan.name, group=group)

    async def old_items(self, group: str) -> list[Item]:
        fields = self._plan.groups.read(group)
        found: list[Item] = []
        for cls in self._plan.read:
            path = key_of(cls)(**fields)
            if path.is_exact:
                item = await self._session.get(path, consistent=True)
                found += [] if item is None else [item]
            else:
                found += [item async for item in self._session.iterate(path, consistent=True)]
        return found

    async def _work(self, note: GroupNote, walk: str | None) -> _Work | None:
        """What there is to write; None if another writer has been here since the note was read."""
        old = await self.old_items(note.group)
        derived = self._derived(old)
        texts = [*derived, *(text for text in note.rows if text not in derived)]
        stored = dict(zip(texts, await self._stored(texts), strict=True))
        foreign = next((text for text in derived if text not in note.rows and stored[text] is not None), None)
        if foreign is not None:
            if (await self.note(note.group)).revision != note.revision:
                return None
            raise RekeyConflict(
                f"re-keying {self._plan.name}: the group {note.group} has the new row {foreign}, which "
                f"is there already and not of this group; two groups must not have the same row, and the new design "
                f"must have no rows before the start"
            )
        put = {text: item for text, item in derived.items() if not _is_same(item, stored[text])}
        delete = [self._plan.path(text) for text in note.rows if text not in derived and stored[text] is not None]
        made = replace(note, rows=list(derived), source=self._source(old), walk=note.walk if walk is None else walk)
        return _Work(made, put, delete, note.rows)

    def _source(self, old: Sequence[Item]) -> list[str]:
        return [digest_of(item) for item in old if isinstance(item, self._plan.sources)]

    def _derived(self, old: Sequence[Item]) -> dict[str, Item]:
        """The new items by their keys, without those that have expired."""
        derived: dict[str, Item] = {}
        now = self._context.moment.timestamp()
        for item in self._plan.derive(old) if old else ():
            text = self._plan.text_of(item)
            if text in derived:
                raise RekeyConflict(f"re-keying {self._plan.name}: a group has the new row {text} twice")
            if not _has_expired(item, now):
                derived[text] = item
        return derived

    async def _stored(self, texts: Sequence[str]) -> list[Item | None]:
        found: list[Item | None] = []
        for start in range(0, len(texts), BATCH_GET_KEYS):
            paths = [self._plan.path(text) for text in texts[start : start + BATCH_GET_KEYS]]
            found += await self._session.get_many(paths, consistent=True)
        return found

    async def _commit(self, work: _Work) -> bool:
        """False if another writer has written the group, or one of its rows, since the note was read."""
        try:
            if not work.put and not work.delete:
                await self._session.put(work.note, if_version="revision")
                return True
            parts = list(_parts(work))
            if len(parts) == 1:
                await self._transact_whole(work)
                return True
            await self._transact_parts(work, parts)
        except ConditionFailed:
            return False
        except TransactionFailed as error:
            if set(error.reasons) <= {None, "ConditionalCheckFailed"}:
                return False
            raise
        return True

    async def _transact_whole(self, work: _Work) -> None:
        actions = Transaction()
        actions.put(work.note, if_version="revision")
        for text, item in work.put.items():
            actions.put(item, if_absent=text not in work.known)
        for path in work.delete:
            actions.delete(path)
        await self._session.transact(actions)

    async def _transact_parts(self, work: _Work, parts: Sequence[_Part]) -> None:
        after = work.note
        begun = replace(after, rows=[*dict.fromkeys([*work.known, *after.rows])])
        await self._session.put(begun, if_version="revision")
        path = GroupNote.key(rekey=after.rekey, group=after.group)
        for part in parts:
            actions = Transaction()
            actions.check(path, where={"revision": begun.revision})
            for item in part.put:
                actions.put(item)
            for each in part.delete:
                actions.delete(each)
            await self._session.transact(actions)
        await self._session.update(path, {"rows": after.rows}, where={"revision": begun.revision})


class _Part(NamedTuple):
    """What one transaction takes."""

    put: list[Item]
    delete: list[AccessPath[Any]]


def _parts(work: _Work) -> Iterator[_Part]:
    part, size = _Part([], []), 0
    for item in work.put.values():
        # Rows and their JSON are of about the same size.
        bytes_of_row = len(msgspec.json.encode(schema_of(type(item)).encode(item)))
        if len(part.put) == _WRITES or (part.put and size + bytes_of_row > MOST_BYTES):
            yield part
            part, size = _Part([], []), 0
        part.put.append(item)
        size += bytes_of_row
    for path in work.delete:
        if len(part.put) + len(part.delete) == _WRITES:
            yield part
            part = _Part([], [])
        part.delete.append(path)
    yield part


def digest_of(item: Item) -> str:
    """Of two versions of an item, the same in every process if the rows are."""
    row = schema_of(type(item)).encode(item)
    text = repr([(name, _text(row[name])) for name in sorted(row)])
    return blake2b(text.encode(), digest_size=8).hexdigest()


def _text(value: Value) -> str:
    """The same in every process: sets have another order in each."""
    ((tag, content),) = value.items()
    match tag:
        case "SS" | "NS" | "BS":
            content = sorted(content)
        case "L":
            content = [_text(each) for each in content]
        case "M":
            content = sorted((name, _text(each)) for name, each in content.items())
    return f"{tag} {content!r}"


def _is_same(item: Item, stored: Item | None) -> bool:
    """Whether the rows are the same, but for what sessions set."""
    if stored is None or type(stored) is not type(item):
        return False
    schema = schema_of(type(item))
    one, other = (_comparable(schema.encode(each)) for each in (item, stored))
    for name in () if schema.stamps is None else schema.stamps.names:
        attribute = schema.codec.by_name[name].attribute
        one.pop(attribute, None)
        other.pop(attribute, None)
    return one == other


def _comparable(row: Row) -> dict[str, Any]:
    return {name: comparable(row[name]) for name in sorted(row)}


def _has_expired(item: Item, now: float) -> bool:
    """DynamoDB may keep an expired row for days, or delete it at once; it is read as absent in either case."""
    schema = schema_of(type(item))
    field = schema.codec.ttl_field
    value = None if field is None else schema.encode(item).get(schema.codec.by_name[field].attribute)
    return value is not None and "N" in value and float(value["N"]) <= now


def _pause(context: Context, attempt: int) -> Steps[None]:
    yield context.pacing.pause(attempt)

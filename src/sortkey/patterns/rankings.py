"""`sk.patterns.ranking`: top lists, and the rank of one item without walking those above it.

The rank is one more than the number of items with a larger number. An aggregate counts the items of each range of
numbers (`sk.patterns.ranges`), at five levels, and the rank is a sum of those counts: five short queries for ten items
or ten million. What remains is the item's own range, if that has more than one number: its rows above are read from the
index, up to a bound, and beyond it estimated.

An index whose sort key is `"{points:desc}#{player}"` has the items in the order of the top list, so that reads what it
shows. In an index of the number alone, equal ones are in an order of the store's own: a list that ends among them is
put in order by reading all of them, up to a bound.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from sortkey.model.errors import DeclarationError, KeyPartError, suggestion
from sortkey.model.items.access_path import AccessPath
from sortkey.model.items.item import Item, schema_of
from sortkey.model.items.key import BoundKey
from sortkey.model.keys.key_attribute import NativeAttribute, TemplateAttribute
from sortkey.model.keys.key_layout import KeyLayout
from sortkey.model.keys.template import Template
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.patterns.aggregates.declaration import Aggregate, aggregate
from sortkey.patterns.aggregates.values import count as items_counted
from sortkey.patterns.aggregates.windows import SLOTS, Range, bounds_of, ranges, ranges_of, stored_between

T = TypeVar("T", bound=Item)

READ: Final = 250
"""The rows of an item's own range that are read."""
TIED: Final = 1000
"""The items with one number that are read to put them in order, if a top list ends among them."""


@dataclass(frozen=True, slots=True)
class Rank:
    """The place of a number among those of all items; `sk.patterns.ranking` gives it."""

    rank: int
    """One more than the number of items with a larger number, so equal ones share it."""
    exact: bool
    """False if a part of it is an estimate."""


@dataclass(frozen=True, slots=True)
class Ranked(Generic[T]):
    """An item of a top list with its rank, which equal ones share."""

    item: T
    rank: int


class Ranking(Generic[T]):
    """A declared ranking: see `sk.patterns.ranking`."""

    def __init__(self, index: BoundKey[T], into: type[Item], count: str, read: int) -> None:
        self.index = index
        self.into = into
        self._layout, self._read, self._count = index.layout, read, count
        self._number, self._in_order = _number_of(index)
        self._groups = self._layout.partition_fields
        self._blocks = _blocks_of(into, self._groups, count)
        self.aggregate: Aggregate = aggregate(
            index.schema.owner,
            into=into,
            by=self._groups,
            window=ranges(self._number),
            values={count: items_counted()},
        )
        """The counts that ranks are made of; a feed with its aggregator's `on_changes` keeps them."""

    def __repr__(self) -> str:
        return f"<ranking of {self.index.name} into {self.into.__name__}>"

    async def top(self, session: AsyncSession, limit: int, **group: Any) -> list[Ranked[T]]:
        """The items with the largest numbers, downward, those with equal numbers by what follows in the index, or, if
        it has the number alone, by their key. `group` are the fields of the index's partition. With the number alone,
        if the list ends among more than 1,000 items with one number, the index's order chooses which of these it
        has."""
        if limit < 1:
            raise ValueError(f"limit is the number of items in the list, at least 1, not {limit}")
        path = self.index(**group)
        if self._in_order:
            found = [item async for item in session.iterate(path, limit=limit)]
        else:
            found = await self._put_in_order(session, path, limit)
        top: list[Ranked[T]] = []
        for place, item in enumerate(found, 1):
            shares = bool(top) and self._number_in(top[-1].item) == self._number_in(item)
            top.append(Ranked(item, top[-1].rank if shares else place))
        return top

    async def _put_in_order(self, session: AsyncSession, path: AccessPath[T], limit: int) -> list[T]:
        """The items of a list, of an index of the number alone."""
        # One more tells whether the list ends among equal ones.
        found = [item async for item in session.iterate(path, descending=True, limit=limit + 1)]
        if len(found) > limit and self._number_in(found[limit]) == self._number_in(found[limit - 1]):
            found = await self._with_all_tied(session, path, found[:limit])
        return sorted(found, key=self._order)[:limit]

    async def _with_all_tied(self, session: AsyncSession, path: AccessPath[T], found: list[T]) -> list[T]:
        """The items and all others with the number of the last one; only the items if those are too many."""
        least = self._number_in(found[-1])
        tied = [item async for item in session.iterate(path.between(least, least), limit=TIED + 1)]
        if len(tied) > TIED:
            return found
        # An item whose number has changed between the two queries is in both.
        above = {self._order(item)[1]: item for item in found if self._number_in(item) > least}
        return [*above.values(), *(item for item in tied if self._order(item)[1] not in above)]

    def _number_in(self, item: T) -> int:
        number: int = getattr(item, self._number)
        return number

    def _order(self, item: T) -> tuple[int, tuple[Any, ...]]:
        """Of a top list: by number downward, then by key."""
        primary = self.index.schema.primary
        fields = (*primary.partition_fields, *primary.sort_fields)
        return -self._number_in(item), tuple([getattr(item, field) for field in fields])

    async def rank(self, session: AsyncSession, item: T) -> Rank:
        """The rank of an item, as the counts have it, which follow changes a moment later."""
        owner = self.index.schema.owner
        if not isinstance(item, owner):
            raise TypeError(f"{self!r} ranks items of {owner.__name__}, not {item!r}")
        number: int | None = getattr(item, self._number)
        if number is None:
            raise ValueError(f"the item has no rank, because its {self._number} is None")
        return await self.rank_at(session, number, **{field: getattr(item, field) for field in self._groups})

    async def rank_at(self, session: AsyncSession, number: int, **group: Any) -> Rank:
        """The rank that an item with this number has, or would have. Raises ValueError for a number that is too large
        for DynamoDB."""
        if type(number) is not int:
            raise TypeError(f"{self!r} ranks items by {self._number}, an int, not {number!r}")
        own, *wider = ranges_of(number)
        in_own_block, *above = await asyncio.gather(
            self._counts(session, group, own, own.slot),
            *(self._counts(session, group, each, each.slot + 1) for each in wider if each.slot + 1 < SLOTS),
        )
        sharing = in_own_block.pop(own.slot, 0)
        rank = 1 + sum(sum(counts.values()) for counts in (in_own_block, *above))
        inside = await self._above_in_range(session, group, number, sharing)
        return Rank(rank + inside.rank, inside.exact)

    async def _counts(self, session: AsyncSession, group: dict[str, Any], of: Range, start: int) -> dict[int, int]:
        """The counts of a block's ranges from the slot `start` on."""
        block: AccessPath[Any] = self._blocks(**group, block=of.block)
        return {
            each.slot: getattr(each, self._count) async for each in session.iterate(block.between(start, SLOTS - 1))
        }

    async def _above_in_range(self, session: AsyncSession, group: dict[str, Any], number: int, sharing: int) -> Rank:
        """How many items of the number's own range are above it; `sharing` is how many the range has."""
        low, high = bounds_of(number)
        if number == high or sharing == 0:
            return Rank(0, True)
        wanted = stored_between(number + 1, high)
        if wanted is None:
            return Rank(0, True)
        path = self.index(**group).between(*wanted)
        above = 0
        async for _ in session.iterate(path, limit=self._read + 1):
            above += 1
        if above <= self._read:
            return Rank(above, True)
        spread = sharing * (high - number) // (high - low + 1)
        return Rank(max(above, spread), False)


def ranking(index: BoundKey[T], *, into: type[Item], count: str = "count", read: int = READ) -> Ranking[T]:
    """Declares ranks and top lists of items by a number, with which the sort key of an index begins,
    `"{points:desc}#{player}"`, or which is all of it. `into` is the class of the counts that ranks are made of: its key
    has the fields of the index's partition and `block`, and sorts by `slot`; its field `count` has the number of items.

        class ScoreRange(sk.Item, table="score-ranges"):
            game: str
            block: str
            slot: int
            players: int = 0
            key = sk.Key("GAME#{game}#{block}", "{slot:02}")

        board = sk.patterns.ranking(Score.top, into=ScoreRange, count="players")

    A change feed of the items keeps the counts, with `board.aggregate.aggregator(db).on_changes`. `await board.top(db,
    100, game="chess")` is a list of `sk.patterns.Ranked`, `await board.rank(db, score)` a `sk.patterns.Rank`. A rank
    reads at most `read` rows of the index; where these are not all, it is an estimate, and not `exact`. See
    docs/guides/rankings.md.
    """
    if not isinstance(index, BoundKey):
        raise DeclarationError(f"sk.patterns.ranking takes an index, such as Score.top, not {index!r}")
    if read < 0:
        raise DeclarationError(f"read= is a number of rows, not {read}")
    return Ranking(index, into, count, read)


def _number_of(index: BoundKey[Any]) -> tuple[str, bool]:
    """The field that items are ranked by, and whether the index has them in the order of the top list."""
    layout: KeyLayout = index.layout
    sort = layout.sort
    if isinstance(sort, NativeAttribute) and sort.field.annotation.declared is int:
        return sort.field.name, False
    if isinstance(sort, TemplateAttribute) and sort.template.begins_descending:
        field = sort.template.fields[0]
        if index.schema.codec.by_name[field].annotation.declared is int:
            return field, True
    raise DeclarationError(
        f"{index.name} ranks items by its sort key, which must begin with an int, the greatest first, or be an int "
        'alone: sk.Index("top", "GAME#{game}", "{points:desc}#{player}")'
    )


def _blocks_of(into: type[Item], groups: Sequence[str], count: str) -> BoundKey[Any]:
    """The key of the counts."""
    schema = schema_of(into)
    if count not in schema.codec.by_name:
        raise DeclarationError(f"{schema.name} has no field {count!r}{suggestion(count, schema.codec.by_name)}")
    primary = schema.primary
    if set(primary.partition_fields) != {*groups, "block"} or primary.sort_fields != ("slot",):
        shown = "#".join(f"{{{field}}}" for field in (*groups, "block"))
        raise DeclarationError(
            f"the key of {schema.name} must have one partition for each block of ranges, so that a rank is few "
            f'queries: sk.Key("{shown}", "{{slot:02}}")'
        )
    if isinstance(primary.sort, TemplateAttribute) and not _sorts_slots(primary.sort.template):
        raise DeclarationError(
            f"the sort key of {schema.name}, {primary.sort.template}, must sort the slots from 0 to {SLOTS - 1}, which "
            'have two digits: "{slot:02}"'
        )
    return BoundKey(schema, primary)


def _sorts_slots(template: Template) -> bool:
    try:
        keys = [template.build([slot]) for slot in range(SLOTS)]
    except KeyPartError:
        return False
    return keys == sorted(keys)

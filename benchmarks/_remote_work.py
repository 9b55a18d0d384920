"""Work on a remote store, each by Sortkey and by the least requests that it needs.

The bare requests are no program: they have the rows that Sortkey has written, and decide nothing by what they read. So
they are what the network and the store take at least, with boto3.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

import sortkey as sk
from benchmarks._remote_calls import Bare, Stopwatch
from sortkey_services.goals.batch.demo_gold import demo_rules, write_gold
from sortkey_services.goals.batch.job import BatchInputs, run_batch
from sortkey_services.goals.model import GOAL_VIEWS, GOALS_REACHED
from sortkey_services.goals.model import TABLES as GOAL_TABLES
from sortkey_services.goals.rules_database import write_rules
from sortkey_services.pricing.model import CHANGES, PRICES
from sortkey_services.pricing.prices import SECOND, ChangeInput
from sortkey_services.pricing.service import PricingService
from sortkey_services.pricing.timeline import GRACE

AS_OF: Final = datetime(2026, 5, 16, tzinfo=UTC)
PRICED_STORES: Final = 10
SHOPS: Final = 500
READ_ROWS: Final = 1000

ORDERS: Final = sk.Table("remote-orders", stream="NEW_AND_OLD_IMAGES")
SALES: Final = sk.Table("remote-sales")
REMINDERS: Final = sk.Table("remote-reminders", stream="NEW_AND_OLD_IMAGES")

Row = dict[str, Any]


class Order(sk.Item, table=ORDERS):
    number: int
    shop: str
    cents: int
    placed: datetime

    key = sk.Key("ORDER#{number:08}", "ORDER")


class Sales(sk.Item, table=SALES):
    shop: str
    orders: int = 0
    cents: int = 0

    key = sk.Key("SHOP#{shop}", "SALES")


class Reminder(sk.Item, table=REMINDERS):
    number: int
    at: datetime
    text: str

    key = sk.Key("REMINDER#{number:08}", "REMINDER")


SOLD: Final = sk.patterns.aggregate(
    Order,
    into=Sales,
    by=("shop",),
    values={"orders": sk.patterns.count(), "cents": sk.patterns.total("cents")},
)
DUE: Final = sk.patterns.schedule("remote-reminders", Reminder, at="at")


class Work(NamedTuple):
    """What is measured: `ours` and `bare` start a watch when all is prepared."""

    name: str
    tables: Sequence[sk.Table]
    ours: Callable[[sk.AsyncSession, Stopwatch], Awaitable[None]]
    bare: Callable[[Bare, Stopwatch, dict[str, list[Row]]], None]
    """Gets the rows that Sortkey has left in these tables."""


def orders(count: int) -> list[Order]:
    placed = datetime(2026, 5, 1, tzinfo=UTC)
    return [
        Order(number=number, shop=f"{number * 7919 % SHOPS:05}", cents=number % 9973, placed=placed)
        for number in range(count)
    ]


def loading(count: int) -> Work:
    async def ours(session: sk.AsyncSession, watch: Stopwatch) -> None:
        items = orders(count)
        with watch:
            loaded = await session.load(items)
        assert loaded.items == count

    def bare(boto: Bare, watch: Stopwatch, left: dict[str, list[Row]]) -> None:
        with watch:
            boto.put_batches(ORDERS.name, left[ORDERS.name])

    return Work(f"db.load of {count:,} rows", (ORDERS,), ours, bare)


def goals(persons: int, folder: Path) -> Work:
    """The bare requests begin when the rows are known: DuckDB's share is in our time alone."""
    rules = f"sqlite:///{folder / 'rules.db'}"
    if not (folder / "gold").exists():
        write_gold(folder / "gold", persons=persons, as_of=AS_OF)
        write_rules(rules, demo_rules())

    async def ours(session: sk.AsyncSession, watch: Stopwatch) -> None:
        with watch:
            result = await run_batch(session, BatchInputs(folder / "gold", rules, AS_OF), now=AS_OF)
        assert result.persons >= persons

    def bare(boto: Bare, watch: Stopwatch, left: dict[str, list[Row]]) -> None:
        reached = left[GOALS_REACHED.name]
        # Not what says which generation is served, and how many rows it has.
        views = [row for row in left[GOAL_VIEWS.name] if "goals" in row]
        with watch:
            boto.put_batches(GOAL_VIEWS.name, views)
            boto.get_batches(GOALS_REACHED.name, keys(reached))
            boto.each("put_item", _puts(boto, GOALS_REACHED, reached, "attribute_not_exists(pk)"))

    return Work(f"sortkey batch goals of {persons:,} persons", GOAL_TABLES, ours, bare)


def price_changes(count: int) -> Work:
    """Accepted, and then made permanent for all stores at once, when all reads are over that began before: a transition
    would wait for them."""

    async def ours(session: sk.AsyncSession, watch: Stopwatch) -> None:
        pricing = PricingService(session)
        changes = [
            ChangeInput(store=f"S{each % PRICED_STORES:03}", product=f"P{each // PRICED_STORES:06}", amount="12.50")
            for each in range(count)
        ]
        with watch:
            accepted = await pricing.change_prices(changes, "bench")
        due = {(change.store, change.effective_at) for change in accepted}
        await asyncio.sleep(GRACE / SECOND)
        with watch:
            applied = await asyncio.gather(*(pricing.apply_due(*each) for each in due))
        assert sum(applied) == count

    def bare(boto: Bare, watch: Stopwatch, left: dict[str, list[Row]]) -> None:
        prices = left[PRICES.name]
        changes = [row for row in left[CHANGES.name] if row["pk"]["S"].startswith("STORE#")]
        others = [row for row in left[CHANGES.name] if not row["pk"]["S"].startswith("STORE#")]
        batch, updates = others[:1], others[1:]
        of_store = [
            {
                "TableName": boto.table(CHANGES.name),
                "KeyConditionExpression": "pk = :pk",
                "ExpressionAttributeValues": {":pk": {"S": store}},
                "ConsistentRead": True,
            }
            for store in {row["pk"]["S"] for row in changes}
        ]
        with watch:
            boto.each("put_item", _puts(boto, CHANGES, batch))
            boto.get_batches(PRICES.name, keys(prices))
            boto.each("put_item", _puts(boto, PRICES, prices, "attribute_not_exists(pk)"))
            boto.put_batches(CHANGES.name, changes)
            boto.each("put_item", _puts(boto, CHANGES, batch))
            boto.each("query", of_store)
            boto.get_batches(PRICES.name, keys(prices))
            boto.each("put_item", _puts(boto, PRICES, prices, "attribute_exists(pk)"))
            boto.each("put_item", _puts(boto, CHANGES, changes, "attribute_exists(pk)"))
            boto.each("put_item", _puts(boto, CHANGES, updates))

    return Work(f"{count:,} price changes", (PRICES, CHANGES), ours, bare)


def aggregate(count: int) -> Work:
    """The changes are in the stream when the watch starts."""

    async def ours(session: sk.AsyncSession, watch: Stopwatch) -> None:
        await session.load(orders(count))
        feed = sk.feeds.ChangeFeed("remote-sales", Order, SOLD.aggregator(session).on_changes)
        with watch:
            async with sk.feeds.Follower(session, [feed]) as follower:
                await follower.caught_up()
        sums = [each async for each in session.scan(Sales, consistent=True)]
        assert sum(each.orders for each in sums) == count

    def bare(boto: Bare, watch: Stopwatch, left: dict[str, list[Row]]) -> None:
        boto.put_batches(ORDERS.name, left[ORDERS.name])
        with watch:
            for records in boto.records(ORDERS.name):
                numbers: Counter[str] = Counter()
                cents: Counter[str] = Counter()
                for record in records:
                    row = record["dynamodb"]["NewImage"]
                    numbers[row["shop"]["S"]] += 1
                    cents[row["shop"]["S"]] += int(row["cents"]["N"])
                last = records[-1]["dynamodb"]["SequenceNumber"]
                boto.each("update_item", (_addition(boto, shop, numbers[shop], cents[shop], last) for shop in numbers))

    return Work(f"a feed of {count:,} changes into an aggregate", (ORDERS, SALES), ours, bare)


def timers(count: int) -> Work:
    """They are due when the watch starts: set by the feed, called, and deleted."""

    async def ours(session: sk.AsyncSession, watch: Stopwatch) -> None:
        at = datetime.now(UTC) - timedelta(minutes=1)
        await session.load(Reminder(number=number, at=at, text="call back") for number in range(count))
        handled: set[int] = set()

        async def on_due(due: sk.patterns.Due[Reminder]) -> None:
            handled.add(due.group["number"])

        with watch:
            async with sk.feeds.Follower(session, [sk.feeds.Timers(DUE, on_due)]) as follower:
                await follower.caught_up()
        assert len(handled) == count

    def bare(boto: Bare, watch: Stopwatch, left: dict[str, list[Row]]) -> None:
        reminders = left[REMINDERS.name]
        boto.put_batches(REMINDERS.name, reminders)
        table = boto.table(REMINDERS.name)
        timers = [{"pk": {"S": f"TIMER#{row['number']['N']}"}, "sk": row["sk"]} for row in reminders]
        with watch:
            for _ in boto.records(REMINDERS.name):
                pass
            boto.each("update_item", (_timer(table, key) for key in timers))
            boto.get_batches(REMINDERS.name, keys(reminders))
            boto.each("delete_item", (_deletion(table, key) for key in timers))

    return Work(f"{count:,} timers", (REMINDERS,), ours, bare)


def keys(rows: Sequence[Row]) -> list[Row]:
    return [{"pk": row["pk"], "sk": row["sk"]} for row in rows]


def _puts(boto: Bare, table: sk.Table, rows: Sequence[Row], condition: str | None = None) -> list[dict[str, Any]]:
    conditions = {} if condition is None else {"ConditionExpression": condition}
    return [{"TableName": boto.table(table.name), "Item": row, **conditions} for row in rows]


def _addition(boto: Bare, shop: str, number: int, cents: int, last: str) -> dict[str, Any]:
    return {
        "TableName": boto.table(SALES.name),
        "Key": {"pk": {"S": f"SHOP#{shop}"}, "sk": {"S": "SALES"}},
        "UpdateExpression": "SET #m = :m ADD orders :n, cents :c",
        "ConditionExpression": "attribute_not_exists(#m) OR #m < :m",
        "ExpressionAttributeNames": {"#m": "mark"},
        "ExpressionAttributeValues": {":m": {"S": last}, ":n": {"N": str(number)}, ":c": {"N": str(cents)}},
    }


def _timer(table: str, key: Row) -> dict[str, Any]:
    return {
        "TableName": table,
        "Key": key,
        "UpdateExpression": "SET #g = :g ADD version :one",
        "ExpressionAttributeNames": {"#g": "group"},
        "ExpressionAttributeValues": {":g": {"S": "[1]"}, ":one": {"N": "1"}},
    }


def _deletion(table: str, key: Row) -> dict[str, Any]:
    return {
        "TableName": table,
        "Key": key,
        "ConditionExpression": "version = :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }

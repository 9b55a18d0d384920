"""The model, microseconds a call, beside the bare client in the process, and beside PynamoDB on one endpoint

In the process, "bare" is the same request through `sortkey.client`, whose answer is left as DynamoDB JSON; the model
makes the key, meters the call and gives typed items. Updates are measured in processor time, so that syncs do not hide
it. Beside pages of partial items and counts, which are measured per row, are the same rows as whole items. On the
endpoint, both sides are sync and speak to one `sortkey db` in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from tempfile import TemporaryDirectory
from time import process_time_ns
from typing import Any

from pynamodb.attributes import MapAttribute, NumberAttribute, UnicodeAttribute
from pynamodb.expressions.update import Action
from pynamodb.models import Model

import sortkey as sk
from benchmarks._results import Result
from benchmarks._timing import side_by_side
from tests.wire.serving import ServerProcess

STORES = 20
PRODUCTS = 100
BATCH = 50
PAGE = 64
OFFERED = 500
TABLE = "prices"

PRICES = sk.Table(TABLE)
STOCKS = sk.Table("stocks")
OFFERS = sk.Table("offers")


class Price(sk.Item, table=PRICES):
    store: str
    product: str
    channel: str = "ALL"
    kind: str = "Base"
    amount: Decimal
    updated: int = 0

    key = sk.Key("STORE#{store}", "{channel}#{kind}#{product}")


class Stock(sk.Item, table=STOCKS):
    product: str
    counts: dict[str, int] = sk.field(default_factory=dict)
    moves: int = 0

    key = sk.Key("PRODUCT#{product}")


class Offer(sk.Item, table=OFFERS):
    """Its indexes have all of it, and a part of it."""

    store: str
    product: str
    amount: Decimal
    updated: int = 0

    key = sk.Key("STORE#{store}", "OFFER#{product}")
    whole = sk.Index("gsi1", "OFFERS", "{product}#{store}")
    part = sk.Index("gsi2", "OFFERS", "{product}#{store}", projection=["amount"])


def offers() -> list[Offer]:
    return [Offer(store=price.store, product=price.product, amount=price.amount) for price in prices()]


def prices() -> list[Price]:
    return [
        Price(store=f"{store:05}", product=f"P{product:04}", amount=Decimal("12.5"))
        for store in range(STORES)
        for product in range(PRODUCTS)
    ]


def asked(number: int) -> dict[str, Any]:
    store, product = divmod(number % (STORES * PRODUCTS), PRODUCTS)
    return {"store": f"{store:05}", "channel": "ALL", "kind": "Base", "product": f"P{product:04}"}


def asked_together(number: int) -> list[dict[str, Any]]:
    return [asked(number + 37 * step) for step in range(BATCH)]


class Modelled:
    def __init__(self, db: sk.Session) -> None:
        self.db = db

    def get(self, number: int) -> object:
        return self.db.get(Price.key(**asked(number)))

    def lookup(self, number: int) -> object:
        return self.db.lookup(Price.key, asked_together(number))

    def page(self, number: int) -> object:
        store = f"{number % STORES:05}"
        return self.db.page(Price.key(store=store, channel="ALL", kind="Base"), first=PAGE).items

    def update(self, number: int) -> object:
        return self.db.update(Price.key(**asked(number)), {"updated": number})

    def page_of_whole_items(self, _: int) -> object:
        return self.db.page(Offer.whole(), first=OFFERED).items

    def page_with_only(self, _: int) -> object:
        return self.db.page(Offer.whole(), first=OFFERED, only=["amount"]).items

    def page_of_projected_items(self, _: int) -> object:
        return self.db.page(Offer.part(), first=OFFERED).items

    def count(self, _: int) -> object:
        return self.db.count(Offer.part())

    def nested_update(self, number: int) -> object:
        return self.db.update(Stock.key(product=f"P{number % PRODUCTS:04}"), [sk.F(Stock.counts)["north"].add(1)])

    def upsert(self, number: int) -> object:
        return self.db.upsert(Stock.key(product=f"N{number % PRODUCTS:04}"), [sk.F(Stock.moves).add(1)])

    def scan(self, _: int) -> object:
        return list(self.db.scan(Price))


class Bare:
    """Builds keys with f-strings, as a program without a model does."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def get(self, number: int) -> object:
        return self.client.get_item(TableName=TABLE, Key=self._key(asked(number)))["Item"]

    def lookup(self, number: int) -> object:
        keys = [self._key(each) for each in asked_together(number)]
        return self.client.batch_get_item(RequestItems={TABLE: {"Keys": keys}})["Responses"][TABLE]

    def page(self, number: int) -> object:
        values = {":pk": {"S": f"STORE#{number % STORES:05}"}, ":sk": {"S": "ALL#Base#"}}
        return self.client.query(
            TableName=TABLE,
            KeyConditionExpression="pk = :pk AND begins_with(sk, :sk)",
            ExpressionAttributeValues=values,
            Limit=PAGE,
        )["Items"]

    def update(self, number: int) -> object:
        return self.client.update_item(
            TableName=TABLE,
            Key=self._key(asked(number)),
            UpdateExpression="SET #updated = :updated",
            ConditionExpression="attribute_exists(#pk) AND attribute_not_exists(#version)",
            ExpressionAttributeNames={"#updated": "updated", "#pk": "pk", "#version": "_v"},
            ExpressionAttributeValues={":updated": {"N": f"{number}"}},
            ReturnValues="ALL_NEW",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
            ReturnConsumedCapacity="TOTAL",
        )["Attributes"]

    def _key(self, fields: dict[str, Any]) -> dict[str, Any]:
        sort = f"{fields['channel']}#{fields['kind']}#{fields['product']}"
        return {"pk": {"S": f"STORE#{fields['store']}"}, "sk": {"S": sort}}


class Pynamo:
    """PynamoDB's model of the same table."""

    def __init__(self, url: str) -> None:
        class PynamoPrice(Model):
            class Meta:
                table_name = TABLE
                host = url
                region = "us-east-1"
                aws_access_key_id = "bench"
                aws_secret_access_key = "bench"

            pk = UnicodeAttribute(hash_key=True)
            sk = UnicodeAttribute(range_key=True)
            store = UnicodeAttribute()
            product = UnicodeAttribute()
            channel = UnicodeAttribute()
            kind = UnicodeAttribute()
            amount = NumberAttribute()
            updated = NumberAttribute()

        class PynamoStock(Model):
            class Meta(PynamoPrice.Meta):
                table_name = STOCKS.name

            pk = UnicodeAttribute(hash_key=True)
            product = UnicodeAttribute()
            counts: Any = MapAttribute[str, int]()  # type: ignore[no-untyped-call]
            moves = NumberAttribute()

        self.model = PynamoPrice
        self.stock = PynamoStock

    def lookup(self, number: int) -> object:
        keys = [(f"STORE#{each['store']}", f"ALL#Base#{each['product']}") for each in asked_together(number)]
        return list(self.model.batch_get(keys))

    def page(self, number: int) -> object:
        beginning = self.model.sk.startswith("ALL#Base#")
        return list(self.model.query(f"STORE#{number % STORES:05}", beginning, limit=PAGE, page_size=PAGE))

    def nested_update(self, number: int) -> object:
        north = self.stock.counts["north"]
        return self.stock(f"PRODUCT#P{number % PRODUCTS:04}").update(actions=[north.set(north + 1)])

    def upsert(self, number: int) -> object:
        product = f"M{number % PRODUCTS:04}"
        actions: list[Action] = [self.stock.moves.add(1), self.stock.product.set(product)]
        return self.stock(f"PRODUCT#{product}").update(actions=actions)

    def scan(self, _: int) -> object:
        return list(self.model.scan())


def loaded(url: str) -> sk.Session:
    db = sk.connect(url, tables=[PRICES, STOCKS, OFFERS])
    db.create_tables()
    db.batch(put=[*prices(), *offers()])
    db.batch(put=[Stock(product=f"P{product:04}", counts={"north": 0}) for product in range(PRODUCTS)])
    return db


def run() -> Iterator[Result]:
    population = STORES * PRODUCTS
    with loaded("memory:") as db:
        modelled, bare = Modelled(db), Bare(db.client)
        for name, calls in {"get": 2000, "lookup": 200, "page": 200}.items():
            ours, theirs = side_by_side(getattr(modelled, name), getattr(bare, name), population, calls)
            yield Result(f"{_title(name)}, in the process", ours, "µs", theirs)
        yield _update(modelled, bare, "in memory")
        yield from partial_items(modelled)
    with TemporaryDirectory() as folder, loaded(folder) as db:
        yield _update(Modelled(db), Bare(db.client), "on a synced folder")
    server = ServerProcess("--memory")
    try:
        with loaded(server.url) as db:
            modelled, pynamo = Modelled(db), Pynamo(server.url)
            for name, calls in {"lookup": 50, "page": 50, "nested_update": 50, "upsert": 50, "scan": 3}.items():
                ours, theirs = side_by_side(getattr(modelled, name), getattr(pynamo, name), population, calls, rounds=5)
                yield Result(f"{_title(name)}, on an endpoint", ours, "µs", peers={"PynamoDB": theirs})
    finally:
        server.stop()


def _update(modelled: Modelled, bare: Bare, where: str) -> Result:
    ours, theirs = side_by_side(modelled.update, bare.update, STORES * PRODUCTS, 300, clock=process_time_ns)
    return Result(f"update {where}, processor time", ours, "µs", theirs)


def partial_items(modelled: Modelled) -> Iterator[Result]:
    """Microseconds a row, of partial items beside whole ones, and of a count of all rows of an index."""
    for name, part in {
        "only=": modelled.page_with_only,
        "an index with a projection": modelled.page_of_projected_items,
    }.items():
        ours, whole = side_by_side(part, modelled.page_of_whole_items, 1, 10, clock=process_time_ns)
        yield Result(f"items of {name}, a row, beside whole items", ours / OFFERED, "µs", whole / OFFERED)
    ours, whole = side_by_side(modelled.count, modelled.page_of_whole_items, 1, 10, clock=process_time_ns)
    yield Result("count of an index, a row, beside whole items", ours / len(offers()), "µs", whole / OFFERED)


def _title(name: str) -> str:
    return {
        "get": "get",
        "lookup": f"lookup of {BATCH}",
        "page": f"page of {PAGE}",
        "nested_update": "nested update",
        "upsert": "upsert of a counter",
        "scan": f"scan of {STORES * PRODUCTS:,}",
    }[name]

"""An existing table, taken over: rows that another program wrote with boto3 and f-strings.

The table keeps its attribute names and its forms of keys. Declarations describe them: `names=`, formats in templates,
`sk.field(name=…)`, defaults for fields that older rows lack, and a version for a field that has changed its type. What
cannot be read is named, counted and repaired; then the index, which is newer than some of the rows, has all of them.
"""

from __future__ import annotations

import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

import sortkey as sk

ADA = UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")


def written_by_boto3(db: sk.Session) -> None:
    """What the other program did, some of it years ago."""
    db.client.create_table(
        TableName="accounts",
        KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}],
        AttributeDefinitions=[
            {"AttributeName": name, "AttributeType": "S"} for name in ("PK", "SK", "GSI1PK", "GSI1SK")
        ],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "GSI1",
                "KeySchema": [
                    {"AttributeName": "GSI1PK", "KeyType": "HASH"},
                    {"AttributeName": "GSI1SK", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        BillingMode="PAY_PER_REQUEST",
    )
    user = f"USER#{ADA}".upper()
    rows: list[dict[str, Any]] = [
        {"SK": "PROFILE", "fullName": "Ada", "createdAt": "2021-03-01T09:30:00Z", "legacyId": 17},
        # The first orders have a price in cents, and no key for the index, which came later.
        {"SK": "ORDER#7", "cents": 1250, "status": "OPEN", "day": "2021-03-02"},
        {"SK": "ORDER#12", "cents": 9900, "status": "PAID", "day": "2021-04-05"},
        {"SK": "ORDER#112", "_v": 2, "price": Decimal("20.5"), "status": "OPEN", "day": "2024-01-09"}
        | {"GSI1PK": "STATUS#OPEN", "GSI1SK": "2024-01-09#112"},
        # Two mistakes of the other program.
        {"SK": "ORDER#113", "_v": 2, "price": "free", "status": "OPEN", "day": "2024-02-01"},
        {"SK": "ORDER#0114", "_v": 2, "price": Decimal(3), "status": "OPEN", "day": "2024-02-01"},
        {"SK": "LOGIN#2024-01-09T08:00:00Z", "expires": "2027-01-09T08:00:00Z"},
    ]
    for row in rows:
        db.client.put_item(TableName="accounts", Item={"PK": {"S": user}} | {k: typed(v) for k, v in row.items()})


def typed(value: str | int | Decimal) -> dict[str, str]:
    return {"S": value} if isinstance(value, str) else {"N": str(value)}


ACCOUNTS = sk.Table("accounts", ttl="expires")


class Profile(sk.Item, table=ACCOUNTS):
    user: UUID
    name: str = sk.field(name="fullName")
    created: Annotated[datetime, sk.seconds] = sk.field(name="createdAt")
    plan: str = "FREE"

    @sk.Key("USER#{user:upper}", "PROFILE", names=("PK", "SK"))
    def key(self, *, user: UUID) -> None: ...


class Order(sk.Item, table=ACCOUNTS, version=2):
    user: UUID
    number: int
    price: Decimal
    status: str
    day: date

    @sk.Key("USER#{user:upper}", "ORDER#{number:d}", names=("PK", "SK"))
    def key(self, *, user: UUID, number: int = ...) -> None: ...

    @sk.Index("GSI1", "STATUS#{status}", "{day}#{number:d}", names=("GSI1PK", "GSI1SK"))
    def by_status(self, *, status: str, day: date = ..., number: int = ...) -> None: ...


@Order.upgrade(1)
def with_price(row: dict[str, Any]) -> dict[str, Any]:
    row["price"] = row.pop("cents") / Decimal(100)
    return row


class Login(sk.Item, table=ACCOUNTS):
    user: UUID
    at: datetime
    expires: datetime

    @sk.Key("USER#{user:upper}", "LOGIN#{at:%Y-%m-%dT%H:%M:%SZ}", names=("PK", "SK"))
    def key(self, *, user: UUID, at: datetime = ...) -> None: ...


def examine(db: sk.Session) -> None:
    """What the declarations make of the rows, before anything is changed."""
    print("differences:", db.diff_tables())
    profile = db.get(Profile.key(user=ADA))
    if profile is not None:
        print("profile:", profile.name, profile.plan, profile.created.year, sk.extra(profile))
    orders = Order.key(user=ADA)
    try:
        list(db.iterate(orders))
    except sk.DecodeError as error:
        print("cannot be read:", error.key)
    print("orders:", {each.number: str(each.price) for each in db.iterate(orders, undecodable="skip")})
    skipped = db.meter.reading("Order.key")
    print(f"left out: {skipped.rows_undecodable} undecodable, {skipped.rows_unrecognised} unrecognised")
    print("open, by the index:", sorted(each.number for each in db.iterate(Order.by_status(status="OPEN"))))
    audit(db)


def audit(db: sk.Session, *, repair: bool = False) -> None:
    """Prints what `sortkey audit` would; with `repair`, also rewrites index keys, TTLs and rows of older versions."""
    report = db.audit(ACCOUNTS, repair=repair, upgrade=repair)
    print("repaired:" if repair else "audit:", f"{report.rows} rows, {report.fine} fine;", end=" ")
    counts = {each.kind.value: each.repaired if repair else each.rows for each in report.findings}
    print(dict(sorted(counts.items())))


def repair(db: sk.Session) -> None:
    """Mends what examine has shown. The other program may go on: every write is conditional, or changes one field."""
    db.client.update_time_to_live(
        TableName="accounts", TimeToLiveSpecification={"AttributeName": "expires", "Enabled": True}
    )
    # A price that is a text: update needs the key only, so it can mend a row that cannot be read.
    db.update(Order.key(user=ADA, number=113), sk.F(Order.price).set(Decimal(0)))
    # A key in another form: the row moves to the key that the declaration gives it.
    for row in list(db.scan_rows(ACCOUNTS)):
        if ACCOUNTS.schema_of(row) is None:
            number = row["SK"]["S"].removeprefix("ORDER#").lstrip("0")
            moved = sk.read(row | {"SK": {"S": f"ORDER#{number}"}}, Order)
            if db.put(moved, if_absent=True):
                db.client.delete_item(TableName="accounts", Key={"PK": row["PK"], "SK": row["SK"]})
    audit(db, repair=True)


def main(url: str) -> None:
    with sk.connect(url, tables=[ACCOUNTS]) as db:
        written_by_boto3(db)
        examine(db)
        repair(db)
        print("differences:", db.diff_tables())
        audit(db)
        orders, opened = Order.key(user=ADA), Order.by_status(status="OPEN")
        print("all orders:", sorted(each.number for each in db.iterate(orders)))
        print("open, by the index:", [f"{each.number} of {each.day}" for each in db.iterate(opened)])
        for path in (orders, opened, Login.key(user=ADA).after(datetime(2024, 1, 1, tzinfo=UTC))):
            print(db.explain(path), "\n")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "memory:")

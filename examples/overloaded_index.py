"""One index that three classes share, each with its own meaning of the key.

DynamoDB has 20 indexes a table, and each costs a write per item. Classes whose items are few, or that are asked in the
same way, can live in one.
"""

from __future__ import annotations

import sys

import sortkey as sk

APP = sk.Table("app")


class User(sk.Item, table=APP):
    user: str
    city: str | None = None

    key = sk.Key("USER#{user}", "PROFILE")
    by_city = sk.Index("gsi1", "CITY#{city}", "USER#{user}")


class Score(sk.Item, table=APP):
    game: str
    user: str
    points: int

    key = sk.Key("GAME#{game}", "SCORE#{user}")
    top = sk.Index("gsi1", "GAME#{game}", "POINTS#{points:08}#{user}")


class Order(sk.Item, table=APP):
    order: str
    user: str
    status: str = "OPEN"

    key = sk.Key("USER#{user}", "ORDER#{order}")
    by_status = sk.Index("gsi1", "STATUS#{status}", "ORDER#{order}")


def main(url: str) -> None:
    with sk.connect(url, tables=[APP]) as db:
        db.create_tables()
        db.batch(put=[User(user="ann", city="Berlin"), User(user="bob", city="Rome"), User(user="cid")])
        db.batch(put=[Score(game="go", user=user, points=points) for user, points in {"ann": 90, "bob": 1200}.items()])
        db.batch(put=[Order(order=f"o{number}", user="ann") for number in range(3)])

        print("in Berlin:", [user.user for user in db.iterate(User.by_city(city="Berlin"))])
        print(db.explain(User.by_city(city="Berlin")), "\n")

        best = db.page(Score.top(game="go"), first=10, descending=True)
        print("best at go:", [(score.user, score.points) for score in best.items])
        print(db.explain(Score.top(game="go"), rows=10), "\n")

        # The update moves the order to another partition of the index, without any code here.
        db.update(Order.key(user="ann", order="o1"), {"status": "SHIPPED"})
        print("open:", [order.order for order in db.iterate(Order.by_status(status="OPEN"))])
        print("shipped:", [order.order for order in db.iterate(Order.by_status(status="SHIPPED"))])
        print(db.explain(Order.by_status(status="OPEN")))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "memory:")

"""The items: one table and one index, which every class uses in its own way. Orders have a second index.

    social          User           USER#{user}        PROFILE              who is it
                    PinBoard       USER#{user}        PINS                 which posts are pinned
                    Follow         USER#{user}        FOLLOWS#{followed}   whom does the user follow
                    Order          ORDER#{order}      STATUS               one order
                    Product        PRODUCT#{product}  CATEGORY             one product

      its index     User           CITY#{city}          USER#{user}          who lives in the city
      gsi1          Follow         USER#{followed}      FOLLOWED_BY#{user}   who follows the user
                    Order          STATUS#{status}      {placed}#{order}     orders of a status, by day
                    Product        CATEGORY#{category}  PRODUCT#{product}    products of a category

      its index     Order          CUSTOMER#{customer}  {placed}#{order}     orders of a customer, by day
      gsi2

    social-counts   FollowCounts   USER#{user}                             how many

A row has one place in an index, and an order needs two: among those of its status, and among those of its customer. So
orders have an index more, and one write changes both lists. Pins have a row of their own, because the index would copy
them.
The counts follow from the table's changes: each change of a follow counts exactly once, in both.

Leaderboards have tables of their own: points that were added, and what follows from them.

    social-score-events   key   GAME#{game}#EVENT#{event}             has this been added?
    social-scores         key   GAME#{game}#PLAYER#{player}           how many points does a player have?
                          top   GAME#{game}  {points:desc}#{player}   who leads? sharded by player
    social-score-ranges   key   GAME#{game}#{block}  {slot}           how many players are in a range of points?
    social-score-totals   key   GAME#{game}                           how many players and points has the game?

Callers write events alone, each a row in a partition of its own: no two writes meet. Scores follow from the events, and
ranges and totals from the scores, each change exactly once. All players of a game share one list, so its partition is
sharded. Events do not expire: an event that goes is taken out of the score.
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Final

import sortkey as sk

SOCIAL: Final = sk.Table("social", stream="NEW_AND_OLD_IMAGES")
COUNTS: Final = sk.Table("social-counts")


class User(sk.Item, table=SOCIAL):
    user: Annotated[str, sk.in_key]
    name: str
    city: str

    key = sk.Key("USER#{user}", "PROFILE")
    by_city = sk.Index("gsi1", "CITY#{city}", "USER#{user}")


class PinBoard(sk.Item, table=SOCIAL):
    """Made together with its user."""

    user: Annotated[str, sk.in_key]
    pins: set[str] = sk.field(default_factory=set)

    key = sk.Key("USER#{user}", "PINS")


class Follow(sk.Item, table=SOCIAL):
    user: Annotated[str, sk.in_key]
    followed: Annotated[str, sk.in_key]
    since: datetime

    key = sk.Key("USER#{user}", "FOLLOWS#{followed}")
    followers = sk.Index("gsi1", "USER#{followed}", "FOLLOWED_BY#{user}")


class Order(sk.Item, table=SOCIAL):
    order: Annotated[str, sk.in_key]
    customer: str
    status: str
    placed: date
    total: Decimal

    key = sk.Key("ORDER#{order}", "STATUS")
    by_status = sk.Index("gsi1", "STATUS#{status}", "{placed}#{order}")
    by_customer = sk.Index("gsi2", "CUSTOMER#{customer}", "{placed}#{order}")


class FormerOrder(sk.Item, table=SOCIAL):
    """An order once more, for its customer's list, in tables of earlier versions."""

    order: Annotated[str, sk.in_key]

    key = sk.Key("ORDER#{order}", "CUSTOMER")


class OrderLists(sk.Item, table=SOCIAL):
    """That all orders are in both indexes, and no former ones are left."""

    complete: bool

    key = sk.Key("LAYOUT", "ORDERS")


class Product(sk.Item, table=SOCIAL):
    product: Annotated[str, sk.in_key]
    name: str
    category: str

    key = sk.Key("PRODUCT#{product}", "CATEGORY")
    by_category = sk.Index("gsi1", "CATEGORY#{category}", "PRODUCT#{product}")


class FollowCounts(sk.Item, table=COUNTS):
    user: Annotated[str, sk.in_key]
    following: int = 0
    followers: int = 0

    key = sk.Key("USER#{user}")


# Both keep their values in the same items, so that one read has both; each has checkpoints of its own.
FOLLOWING: Final = sk.patterns.aggregate(
    Follow, into=FollowCounts, by=("user",), values={"following": sk.patterns.count()}, checkpoints="following"
)
FOLLOWERS: Final = sk.patterns.aggregate(
    Follow,
    into=FollowCounts,
    by={"user": "followed"},
    values={"followers": sk.patterns.count()},
    checkpoints="followers",
)


SHARDS: Final = 10
FORMER_TOP: Final = "top"
"""The index that tables of earlier versions have for top lists: by points alone."""

EVENTS: Final = sk.Table("social-score-events", stream="NEW_AND_OLD_IMAGES")
SCORES: Final = sk.Table("social-scores", stream="NEW_AND_OLD_IMAGES")
RANGES: Final = sk.Table("social-score-ranges")
TOTALS: Final = sk.Table("social-score-totals")
LEADERBOARD_TABLES: Final = (EVENTS, SCORES, RANGES, TOTALS)


class ScoreEvent(sk.Item, table=EVENTS):
    game: Annotated[str, sk.in_key]
    event: Annotated[str, sk.in_key]
    player: str
    points: int

    key = sk.Key("GAME#{game}#EVENT#{event}")


class Score(sk.Item, table=SCORES):
    game: Annotated[str, sk.in_key]
    player: Annotated[str, sk.in_key]
    points: int = 0

    key = sk.Key("GAME#{game}#PLAYER#{player}")
    top = sk.Index(
        "ranked",
        "GAME#{game}",
        "{points:desc}#{player}",
        names=("toppk", "topsk"),
        projection=("points",),
        shards=sk.Shards(SHARDS, by="player"),
    )


class ScoreRange(sk.Item, table=RANGES):
    game: Annotated[str, sk.in_key]
    block: Annotated[str, sk.in_key]
    slot: Annotated[int, sk.in_key]
    players: int = 0

    key = sk.Key("GAME#{game}#{block}", "{slot:02}")


class GameTotal(sk.Item, table=TOTALS):
    game: Annotated[str, sk.in_key]
    players: int = 0
    points: int = 0

    key = sk.Key("GAME#{game}")


SCORES_OF_EVENTS: Final = sk.patterns.aggregate(
    ScoreEvent, into=Score, by=("game", "player"), values={"points": sk.patterns.total("points")}
)
BOARD: Final = sk.patterns.ranking(Score.top, into=ScoreRange, count="players")
TOTALS_OF_SCORES: Final = sk.patterns.aggregate(
    Score, into=GameTotal, by=("game",), values={"players": sk.patterns.count(), "points": sk.patterns.total("points")}
)

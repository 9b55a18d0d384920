"""Who follows whom, as an adjacency list.

An edge is one item. The table answers "whom does ann follow?", the index turned round answers "who follows ann?": each
is one query, however many users there are.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime

import sortkey as sk

SOCIAL = sk.Table("social")


class User(sk.Item, table=SOCIAL):
    user: str
    name: str

    key = sk.Key("USER#{user}", "PROFILE")


class Follow(sk.Item, table=SOCIAL):
    user: str
    followed: str
    since: datetime

    key = sk.Key("USER#{user}", "FOLLOWS#{followed}")
    followers = sk.Index("gsi1", "FOLLOWED#{followed}", "{user}")


def main(url: str) -> None:
    since = datetime(2026, 8, 24, tzinfo=UTC)
    edges = [("ann", "bob"), ("ann", "cid"), ("bob", "ann"), ("cid", "ann"), ("dora", "bob")]
    with sk.connect(url, tables=[SOCIAL]) as db:
        db.create_tables()
        db.batch(put=[User(user=user, name=user.title()) for user in ("ann", "bob", "cid", "dora")])
        db.batch(put=[Follow(user=user, followed=followed, since=since) for user, followed in edges])

        following, followers = Follow.key(user="ann"), Follow.followers(followed="ann")
        print("ann follows", [edge.followed for edge in db.iterate(following)])
        print(db.explain(following), "\n")
        print("ann is followed by", [edge.user for edge in db.iterate(followers)])
        print(db.explain(followers), "\n")

        # Is dora a follower of bob? An exact key: no list is read for it.
        edge = Follow.key(user="dora", followed="bob")
        print("dora follows bob:", db.get(edge) is not None)
        print(db.explain(edge), "\n")

        # The profile and all that she follows, in one query.
        everything = sk.collection(User.key, user="ann")
        print("ann's page:", [type(item).__name__ for item in db.iterate(everything)])


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "memory:")

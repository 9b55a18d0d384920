"""A chat: rooms, messages by time, unread counters, and messages that expire.

A message is written once, and each other member of the room has one more unread message: a counter that makes its
item.
Messages of a room with a limit expire. DynamoDB deletes them some time later, so readers leave out what has expired.
"""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime, timedelta

import sortkey as sk

CHAT = sk.Table("chat", ttl="expires")


class Room(sk.Item, table=CHAT):
    room: str
    members: set[str]
    keep: int | None = None
    """The days for which messages are kept; None to keep them forever."""

    @sk.Key("ROOM#{room}", "ROOM")
    def key(self, *, room: str) -> None: ...


class Message(sk.Item, table=CHAT):
    room: str
    at: datetime
    author: str
    text: str
    expires: datetime | None = None

    # Two authors may write in the same microsecond.
    @sk.Key("ROOM#{room}", "MESSAGE#{at}#{author}")
    def key(self, *, room: str, at: datetime = ..., author: str = ...) -> None: ...

    @sk.Index("by_author", ("author",), ("at",))
    def by_author(self, *, author: str, at: datetime = ...) -> None: ...


class Unread(sk.Item, table=CHAT):
    user: str
    room: str
    messages: int = 0
    last: datetime | None = None

    @sk.Key("USER#{user}", "UNREAD#{room}")
    def key(self, *, user: str, room: str = ...) -> None: ...


async def send(db: sk.AsyncSession, room: Room, author: str, text: str, at: datetime) -> Message:
    expires = None if room.keep is None else at + timedelta(days=room.keep)
    message = Message(room=room.room, at=at, author=author, text=text, expires=expires)
    await db.put(message, if_absent=True)
    count = [sk.F(Unread.messages).add(1), sk.F(Unread.last).set(at)]
    others = sorted(room.members - {author})
    await asyncio.gather(*(db.upsert(Unread.key(user=user, room=room.room), count) for user in others))
    return message


async def read(db: sk.AsyncSession, user: str, room: str, now: datetime) -> list[Message]:
    """The last messages, oldest first; the room has no unread messages then."""
    expires = sk.F(Message.expires)
    page = await db.page(Message.key(room=room), last=3, where=expires.not_exists() | (expires > now))
    await db.delete(Unread.key(user=user, room=room))
    return page.items


async def chat(db: sk.AsyncSession) -> None:
    now = datetime.now(UTC)
    lobby = Room(room="lobby", members={"ada", "bob", "cid"})
    news = Room(room="news", members={"ada", "bob"}, keep=7)
    await db.batch(put=[lobby, news])
    for minute, (room, author, text) in enumerate(
        [
            (lobby, "ada", "hello"),
            (lobby, "bob", "hi ada"),
            (news, "ada", "release on friday"),
            (lobby, "cid", "hi all"),
            (lobby, "bob", "hi cid"),
        ]
    ):
        await send(db, room, author, text, now + timedelta(minutes=minute))
    # Written long ago: the store may have deleted it, or not yet.
    await send(db, news, "bob", "long ago", now - timedelta(days=30))

    unread = Unread.key(user="ada")
    print("ada's unread:", {each.room: each.messages async for each in db.iterate(unread)})
    print("lobby:", [message.text for message in await read(db, "ada", "lobby", now)])
    print("news:", [message.text for message in await read(db, "ada", "news", now)])
    print(f"ada's unread: {await db.count(unread)}")

    since = Message.key(room="lobby").after(now + timedelta(minutes=1))
    print("since then:", [message.author async for message in db.iterate(since)])
    by_bob = Message.by_author(author="bob")
    newest = await db.first(by_bob, descending=True)
    print("bob's last:", None if newest is None else newest.text)
    for path in (unread, since, by_bob):
        print(db.explain(path), "\n")


async def run(url: str) -> None:
    async with sk.async_connect(url, tables=[CHAT]) as db:
        await db.create_tables()
        await chat(db)


def main(url: str) -> None:
    asyncio.run(run(url))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "memory:")

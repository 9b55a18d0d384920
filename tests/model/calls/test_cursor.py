"""Cursors: opaque, signed, and of one question only."""

from __future__ import annotations

import base64
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sortkey as sk
from sortkey.model.calls.queries import Cursors
from tests.model.sessions.shop import SHOP, Order, order

ADA = Order.key(customer="ada")


def cursors(path: sk.AccessPath[Order] = ADA, secret: bytes = b"secret") -> Cursors:
    return Cursors(secret, path, path.request())


POSITION = ADA.position(order(7))
CURSOR = cursors().encode(POSITION)


def test_a_cursor_is_a_position() -> None:
    assert cursors().decode(CURSOR) == POSITION


@given(st.integers(0, len(CURSOR) - 1), st.sampled_from("ABCxyz019-_"))
def test_a_changed_cursor_is_rejected(index: int, character: str) -> None:
    changed = CURSOR[:index] + character + CURSOR[index + 1 :]
    if changed != CURSOR:
        with pytest.raises(sk.CursorError, match="invalid cursor: it was changed"):
            cursors().decode(changed)


# All of these decode to the same bytes: a letter with other spare bits, padding, and signs that base64 ignores.
@pytest.mark.parametrize("number", range(3))
def test_another_text_of_the_same_bytes_is_rejected(number: int) -> None:
    made = cursors().encode({**POSITION, "pk": {"S": "x" * (20 + number)}})
    others = [made + "=", made + "==", made + "\n", f"{made[:5]}!{made[5:]}", made.replace("-", "+").replace("_", "/")]
    raw = base64.urlsafe_b64decode(made + "=" * (-len(made) % 4))
    for letter in string.ascii_letters + string.digits + "-_":
        changed = made[:-1] + letter
        if len(made) % 4 != 1 and base64.urlsafe_b64decode(changed + "=" * (-len(made) % 4)) == raw:
            others.append(changed)
    for other in others:
        if other != made:
            with pytest.raises(sk.CursorError, match="invalid cursor"):
                cursors().decode(other)


@pytest.mark.parametrize("text", ["", "x", "é", "AAAA", "A" * 9000, "%%%"])
def test_anything_else_is_rejected(text: str) -> None:
    with pytest.raises(sk.CursorError, match="invalid cursor"):
        cursors().decode(text)


def test_another_secret_is_rejected() -> None:
    with pytest.raises(sk.CursorError, match="another secret"):
        cursors(secret=b"other").decode(CURSOR)


@pytest.mark.parametrize(
    "path", [Order.key(customer="bob"), ADA.between(1, 5), Order.by_status(status="OPEN")], ids=repr
)
def test_another_question_is_rejected(path: sk.AccessPath[Order]) -> None:
    with pytest.raises(sk.CursorError, match="another query"):
        cursors(path).decode(CURSOR)


# A filter and an order are part of the question; how consistently it is read is not.
def test_what_belongs_to_the_question() -> None:
    with sk.connect("memory:", tables=[SHOP]) as db:
        db.create_tables()
        db.batch(put=[order(number) for number in range(5)])
        cursor = db.page(ADA, first=1).end_cursor
        assert db.page(ADA, first=1, after=cursor, consistent=True).items == [order(1)]
        for options in ({"descending": True}, {"where": {"status": "OPEN"}}):
            with pytest.raises(sk.CursorError, match="another query"):
                db.page(ADA, first=1, after=cursor, **options)


def test_a_secret_makes_cursors_outlive_the_session(tmp_path: object) -> None:
    with sk.connect(f"file:{tmp_path}", tables=[SHOP], secret="s") as db:
        db.create_tables()
        db.batch(put=[order(number) for number in range(3)])
        cursor = db.page(ADA, first=1).end_cursor
    with sk.connect(f"file:{tmp_path}", tables=[SHOP], secret="s") as db:
        assert db.page(ADA, first=1, after=cursor).items == [order(1)]
    with sk.connect(f"file:{tmp_path}", tables=[SHOP], secret="t") as db, pytest.raises(sk.CursorError):
        db.page(ADA, first=1, after=cursor)


# Binary keys go through JSON as well.
def test_native_keys() -> None:
    class Blob(sk.Item, table=sk.Table("blobs")):
        content: bytes
        size: int
        key = sk.Key("{content}", "{size}")

    path = Blob.key(content=b"\x00\xff")
    position = path.position(Blob(content=b"\x00\xff", size=5))
    made = Cursors(b"s", path, path.request())
    assert made.decode(made.encode(position)) == position

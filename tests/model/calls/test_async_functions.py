"""A `def` where `async def` is needed is found where it is declared, not when the first change comes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial, wraps
from typing import Any

import pytest

import sortkey as sk
from sortkey.model.calls.arguments import require_async
from tests.feeds.changes.parcels import PARCELS, Parcel


async def handle(_changes: Any) -> None: ...


def sync(_changes: Any) -> None: ...


def returns_coroutine(changes: Any) -> Awaitable[None]:
    return handle(changes)


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*arguments: Any) -> Any:
        return function(*arguments)

    return call


class Async:
    async def method(self, _changes: Any) -> None: ...

    async def __call__(self, _changes: Any) -> None: ...


class Sync:
    def method(self, _changes: Any) -> None: ...

    def __call__(self, _changes: Any) -> None: ...


@pytest.mark.parametrize("function", [sync, Sync().method, Sync(), partial(sync, 1), None, "handle"])
def test_what_cannot_be_awaited(function: Any) -> None:
    with pytest.raises(
        sk.DeclarationError, match=r"a handler (must be awaited: write `async def|is an async function)"
    ):
        require_async("a handler", function)


@pytest.mark.parametrize(
    "function",
    [handle, Async().method, Async(), partial(handle, 1), returns_coroutine, lambda c: handle(c), logged(handle)],
)
def test_what_can_be_awaited(function: Any) -> None:
    require_async("a handler", function)


def test_feeds_say_so() -> None:
    function: Any = sync
    with pytest.raises(sk.DeclarationError, match="change feed parcels: on_changes must be awaited"):
        sk.feeds.ChangeFeed("parcels", Parcel, function)
    with pytest.raises(sk.DeclarationError, match="change feed parcels: dead_letters must be awaited"):
        sk.feeds.ChangeFeed("parcels", Parcel, handle, dead_letters=function)


def test_a_follower_takes_an_async_session() -> None:
    with (
        sk.connect("memory:", tables=[PARCELS]) as session,
        pytest.raises(sk.DeclarationError, match=r"sk\.feeds\.Follower takes the session of sk\.async_connect"),
    ):
        sk.feeds.Follower(session, [])  # type: ignore[arg-type]

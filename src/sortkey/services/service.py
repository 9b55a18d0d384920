"""What the server, the worker and the demo ask of every service."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from litestar.types import ControllerRouterHandler

from sortkey.feeds.message import Consumer

Progress = Callable[[int, int], None]
"""Told how many of how many things are done."""


class Service(Consumer, Protocol):
    """A service over one session, which whoever opened it closes."""

    @property
    def name(self) -> str:
        """As in its routes' first segment, the scopes of tokens and the command line."""
        ...

    @property
    def routes(self) -> Sequence[ControllerRouterHandler]: ...

    async def start(self) -> None:
        """Make the tables that are missing; before this, nothing else may be called."""
        ...

    async def load_demo(self, progress: Progress) -> None:
        """Load the demonstration data, unless it is there."""
        ...


class Unknown(Exception):
    """The request names something that does not exist: answered with 404."""


class Unacceptable(Exception):
    """The request is well-formed and still cannot be done: answered with 400. Says what would do."""

    def __init__(self, message: str, details: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.details = tuple(details)

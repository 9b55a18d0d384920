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
    def routes(self) -> Sequence[ControllerRouterHandler]:
        """Litestar's handlers, typed, as the documentation shows them:

            @post("/boosts/{tenant:str}/lookup", status_code=200, fast=True, scope="read")
            async def lookup(tenant: FromPath[str], data: JSONBody[Lookup]) -> Found: ...

        Two options speak to the server:

        `fast=True` has the server call the handler by a short way, at a third of the cost of Litestar's: its arguments
        must be the path's, as text, and `data`, and its answer something that msgspec makes JSON of. The body is then
        taken strictly: a number in quotation marks is no number.

        `scope="read"` or `"write"` is what a token needs for it; otherwise GET reads, and everything else writes.
        """
        ...

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

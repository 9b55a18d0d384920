"""What a service is to the server, the worker and the command line.

A service is a class with the members of `Service`; its `ServiceDefinition` makes one from a session and settings.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf
from random import Random
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Protocol, runtime_checkable

from msgspec import Meta

from sortkey.clock import Clock
from sortkey.feeds.changes.change_feed import ChangeFeed
from sortkey.feeds.timers.timers import Timers
from sortkey.http.metrics import Families, Samples
from sortkey.model.calls.arguments import require_async
from sortkey.model.items.item import Item
from sortkey.model.items.table import Table
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.patterns.rekeying.declaration import Rekey

if TYPE_CHECKING:
    # Installed with the server only.
    from litestar.types import ControllerRouterHandler

Progress = Callable[[int, int], None]
"""A function that shows progress; it is called with the number of things done and the total."""

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


class BadSettings(Exception):
    """The configuration cannot be used. The message names the setting and its allowed values."""


class NotFound(Exception):
    """The request names something that does not exist: answered with 404."""


class BadRequest(Exception):
    """The request is well-formed but cannot be carried out: answered with 400. The message says what is allowed."""

    def __init__(self, message: str, details: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.details = tuple(details)


class Conflict(Exception):
    """The request is valid, but the state of what it names forbids it: answered with 409. `code` tells programs why.

    raise sk.services.Conflict("there are 100 pins already; remove one first", code="full")
    """

    def __init__(self, message: str, code: str = "conflict") -> None:
        super().__init__(message)
        self.code = code


MAX_AHEAD_SECONDS: Final = 300.0
MaxAheadSeconds = Annotated[float, Meta(ge=0)]
"""The type of a service's setting `max_ahead_seconds`, for an `AheadLimit`. With `inf`, there is no limit."""


class AheadLimit:
    """How far ahead of a clock the time of an event may be: five minutes, unless a setting says otherwise.

    Where the newest event wins, one from a clock that is wrong makes all later ones stale until its time has come. So a
    service that takes times from outside checks them before it orders by them:

        self._ahead = sk.services.AheadLimit(clock, settings.max_ahead_seconds)
        …
        error = self._ahead.error(event.updated_at)
        if error is not None:
            raise sk.services.BadRequest(error)

    From `consume`, the same error is the reason of an `sk.feeds.Rejected`, and so of a dead letter.
    """

    def __init__(self, clock: Clock, seconds: float = MAX_AHEAD_SECONDS) -> None:
        self._clock = clock
        self._seconds = seconds

    def error(self, at: datetime, field: str = "updatedAt") -> str | None:
        """Why the time of an event is rejected; None if it is accepted."""
        now = self._clock.now()
        if at.timestamp() - now <= self._seconds:
            return None
        return (
            f"{field}: {at.isoformat()} is more than {self._seconds:g} s (max_ahead_seconds) ahead of the server's "
            f"clock, {datetime.fromtimestamp(int(now), UTC).isoformat()}"
        )


@runtime_checkable
class Caller(Protocol):
    """Who sent a request. A handler takes it as `caller: NamedDependency[sk.services.Caller]`, of `litestar.di`."""

    @property
    def name(self) -> str | None:
        """The name of the request's token, which the client cannot choose; None on a server without tokens."""
        ...

    @property
    def address(self) -> str:
        """The client's address, or that of the proxy in front of the server."""
        ...

    @property
    def gone(self) -> bool:
        """Whether the client has closed its connection, so that a handler with much to do need not begin the rest."""
        ...

    def require(self, right: Literal["read", "write"]) -> None:
        """Raises the error that answers the request if its token lacks this right. For handlers whose body decides
        what they need; for others, the route's `scope` does."""
        ...


class Service(Protocol):
    """A service on one session. The caller opens the session and closes it. One that takes the messages of
    `sortkey worker` is a `Consumer`, too; see also `Demonstrated`, `Explained`, `Maintained`
    and `Measured`."""

    @property
    def name(self) -> str:
        """The first segment of its routes, the prefix of its token scopes, and its name on the command line."""
        ...

    @property
    def routes(self) -> Sequence[ControllerRouterHandler]:
        """Typed Litestar handlers; the API documentation is made from them:

            @post("/boosts/{tenant:str}/lookup", status_code=200, fast=True, scope="read")
            async def lookup(tenant: FromPath[str], data: JSONBody[Lookup]) -> Found: ...

        The server reads two options:

        `fast=True`: the server calls the handler directly, at a third of the cost of Litestar's dispatch. Its arguments
        must be path parameters of type str, query parameters of type str or int with a default, `data`, and
        `caller`; msgspec encodes its answer. The body is decoded strictly: a number in quotation marks is rejected.

        `scope="read"` or `"write"`: the scope that a token needs. By default GET needs read, the other
        methods write. `"open"`: no token is needed, as for pages and scripts, which browsers request without one.
        """
        ...

    @property
    def feeds(self) -> Sequence[ChangeFeed[Any] | Timers[Any]]:
        """Consumers of changes, and timers, which `sortkey up`, `serve` and `follow` run; often none."""
        ...

    async def start(self) -> None:
        """Create missing tables. Called before anything else."""
        ...


@runtime_checkable
class Demonstrated(Protocol):
    """A service with data of its own to show what it does, for `--demo`."""

    async def load_demo(self, progress: Progress) -> None:
        """Load the demonstration data unless it is loaded already."""
        ...

    async def run_demo(self) -> None:
        """What visitors of the demonstration would do, until it is cancelled. Called while the server runs, with the
        demonstration data loaded."""
        ...


@runtime_checkable
class Explained(Protocol):
    """A service that explains in the console what it does, by routes that only the console calls."""

    @property
    def console_routes(self) -> Sequence[ControllerRouterHandler]:
        """As `routes`. The server does not have them, so they may read more than a client should cause."""
        ...


@runtime_checkable
class Maintained(Protocol):
    """A service with work of its own beside its requests, such as removing what is old."""

    def maintenance(self) -> AbstractAsyncContextManager[object]:
        """The work, from entering to leaving: `sortkey up` and `serve` enter it while they serve, unless
        `--no-follow`."""
        ...


@runtime_checkable
class Measured(Protocol):
    """A service with samples of its own in `GET /metrics`."""

    @property
    def name(self) -> str: ...

    @property
    def families(self) -> Families:
        """What the samples are, by their names."""
        ...

    async def samples(self) -> Samples: ...


class JobRejected(Exception):
    """The job cannot run with these arguments or inputs, and has written nothing. The command ends with status 2."""


class JobFailed(Exception):
    """The job has begun and could not be completed. The message says whether the same command continues. The command
    ends with status 1."""


class JobProgress(Protocol):
    """How far a job is, on standard error: a bar on a terminal, lines elsewhere."""

    def note(self, message: str) -> None:
        """A line of its own."""
        ...

    def part(self, name: str, unit: str = "") -> Progress:
        """A part of the job, such as "checking prices.csv", and what is counted in it, such as "rows". It is shown when
        the function is first called, in place of the part before. A total of 0 is one that is not known: a bar shows
        that the job works, and there is no line."""
        ...


@dataclass(frozen=True)
class JobRun:
    """One run of a job."""

    arguments: argparse.Namespace
    """What the job's own arguments are, by their names."""
    settings: Mapping[str, Any]
    """The service's table of the configuration file."""
    store: str
    """The URL of the store. Processes of other folders can open it, too."""
    connect: Callable[[], AbstractAsyncContextManager[AsyncSession]]
    """Opens the store, with the service's tables."""
    progress: AbstractContextManager[JobProgress]
    """Entered while the job works. What the job prints on standard output comes after it."""


class Job(Protocol):
    """Work of a service that a command runs: `sortkey batch SERVICE` or `sortkey load SERVICE FILE…`.

    A job imports large packages only when it runs. It raises JobRejected and JobFailed, each with one line; the command
    words errors of the store.
    """

    @property
    def summary(self) -> str:
        """What the job does, for `--help`."""
        ...

    @property
    def when_interrupted(self) -> str:
        """What a person reads who has stopped it: what was written, and how to continue."""
        ...

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """The job's own arguments. `--store` and `--config` are there already."""
        ...

    async def run(self, run: JobRun) -> None: ...


@dataclass(frozen=True, slots=True)
class UsualRequest:
    """One kind of request in a service's usual mix, from which `sortkey cost` reckons what the service costs:

        def ask(draw: Random) -> str:
            return f"GET /notes/of/ada/{draw.randrange(100)}"

        def write(draw: Random) -> tuple[str, object]:
            return f"PUT /notes/of/ada/{draw.randrange(100)}", {"topic": "engines", "text": "It weaves."}

        usual_requests=[
            sk.services.UsualRequest("read a note", 9, ask),
            sk.services.UsualRequest("write a note", 1, write),
        ]

    The requests are sent to the service in a store in memory, with its demonstration data, and what they read and write
    is metered.
    """

    name: str
    """For people."""
    share: float
    """How many there are, in relation to the others."""
    make: Callable[[Random], str | tuple[str, object]]
    """One of them, at random: the method and the path, perhaps with what its body is as JSON."""

    def __post_init__(self) -> None:
        share: Any = self.share
        if not isinstance(share, (int, float)) or not 0 < share < inf:
            raise ValueError(f"usual request {self.name!r}: share is a number above 0, not {share!r}")


@dataclass(frozen=True, slots=True)
class ServiceDefinition:
    """A service before a store is open: what the command line lists, and how to make it.

    A package registers it in its pyproject.toml, under the name that it has:

        [project.entry-points."sortkey.services"]
        notes = "my_notes.service:NOTES"
    """

    name: str
    """Letters, digits, `_` and `-`."""
    summary: str
    tables: Callable[[Mapping[str, Any]], Sequence[type[Item] | Table]]
    """The tables that a service with these settings uses; the session is opened with them."""
    make: Callable[[AsyncSession, Mapping[str, Any]], Service]
    """Makes the service from its section of the configuration file; {} means all defaults. Raises BadSettings."""
    takes_messages: bool = False
    """Whether the service is a `Consumer`."""
    has_feeds: bool = False
    """Whether the service has change feeds or timers."""
    batch: Job | None = None
    """What `sortkey batch` runs."""
    load: Job | None = None
    """What `sortkey load` runs."""
    rekeys: Callable[[Mapping[str, Any]], Sequence[Rekey]] | None = None
    """The re-keyings of a service with these settings, for `sortkey rekey`."""
    usual_requests: Sequence[UsualRequest] = ()
    """The usual mix, for `sortkey cost`."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"{self.name!r} is not a service's name: use letters, digits, '_' and '-'")
        # Commands tell definitions apart by their hash, which a list does not have.
        object.__setattr__(self, "usual_requests", tuple(self.usual_requests))
        for name, job in (("batch", self.batch), ("load", self.load)):
            if job is not None:
                require_async(f"service {self.name}: {name}.run", job.run)

    def service(self, session: AsyncSession, settings: Mapping[str, Any]) -> Service:
        """What `make` makes. Raises DeclarationError if a method of it that is awaited is not async."""
        made = self.make(session, settings)
        for name in ("start", "consume", "load_demo", "run_demo", "samples"):
            method = getattr(made, name, None)
            if method is not None:
                require_async(f"service {self.name}: {name}", method)
        return made

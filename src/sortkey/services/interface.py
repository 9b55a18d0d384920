"""What a service is to the server, the worker and the command line.

A service is a class with the members of `Service`; its `ServiceDefinition` makes one from a session and settings.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, runtime_checkable

from sortkey.feeds.changes.change_feed import ChangeFeed
from sortkey.feeds.timers.timers import Timers
from sortkey.http.metrics import Families, Samples
from sortkey.model.items.item import Item
from sortkey.model.items.table import Table
from sortkey.model.sessions.async_session import AsyncSession

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


@runtime_checkable
class Caller(Protocol):
    """Who sent a request. A handler takes it as `caller: NamedDependency[sk.services.Caller]`, of `litestar.di`."""

    @property
    def address(self) -> str:
        """The client's address, or that of the proxy in front of the server."""
        ...

    def require(self, right: Literal["read", "write"]) -> None:
        """Raises the error that answers the request if its token lacks this right. For handlers whose body decides
        what they need; for others, the route's `scope` does."""
        ...


class Service(Protocol):
    """A service on one session. The caller opens the session and closes it. One that takes the messages of
    `sortkey worker` is a `Consumer`, too; see also `Demonstrated`, `Maintained` and `Measured`."""

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

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"{self.name!r} is not a service's name: use letters, digits, '_' and '-'")

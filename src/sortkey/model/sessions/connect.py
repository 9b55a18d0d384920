"""`sk.connect` and `sk.async_connect`, which open sessions."""

from __future__ import annotations

import os
import secrets
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn

from sortkey.client import Faults, async_client
from sortkey.client import client as open_client
from sortkey.client.stores import Capabilities
from sortkey.clock import Clock, SystemClock
from sortkey.model.calls.steps import Context, Pacing
from sortkey.model.costs.meter import Meter
from sortkey.model.items.item import Item
from sortkey.model.items.table import Table
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.runners import AsyncRunner, Runner, check_timeout
from sortkey.model.sessions.session import Session
from sortkey.model.tables import provision

SECRET_VARIABLE: Final = "SORTKEY_CURSOR_SECRET"
TIMEOUT: Final = 30.0

_PROCESS_SECRET: Final = secrets.token_bytes(32)
"""The default: cursors are then valid as long as the process lives."""


@dataclass(frozen=True, slots=True)
class SessionOptions:
    tables: tuple[Table, ...]
    secret: bytes
    timeout: float | None
    pacing: Pacing
    clock: Clock

    def __post_init__(self) -> None:
        check_timeout(self.timeout)
        if not isinstance(self.secret, bytes):
            raise TypeError(f"secret must be a text or bytes, not {type(self.secret).__name__}")
        if not callable(getattr(self.clock, "now", None)):
            raise TypeError(f"clock must have a method now, which returns seconds since 1970; {self.clock!r} has none")

    def context(self, store: Capabilities) -> Context:
        """Raises Unsupported if the store lacks what a declaration needs."""
        provision.require_support(self.tables, store)
        return Context(store, Meter(), self.pacing, self.secret, self.clock)


def options(
    tables: Iterable[type[Item] | Table],
    secret: str | bytes | None,
    timeout: float | None,
    pacing: Pacing | None = None,
    clock: Clock | None = None,
) -> SessionOptions:
    chosen = secret if secret is not None else os.environ.get(SECRET_VARIABLE)
    key = _PROCESS_SECRET if not chosen else chosen.encode() if isinstance(chosen, str) else chosen
    return SessionOptions(provision.tables_of(tables), key, timeout, pacing or Pacing(), clock or SystemClock())


def connect(
    url: str | os.PathLike[str],
    *,
    tables: Sequence[type[Item] | Table] = (),
    secret: str | bytes | None = None,
    timeout: float | None = TIMEOUT,
    pacing: Pacing | None = None,
    clock: Clock | None = None,
    session: Any = None,
    config: Any = None,
    faults: Faults | None = None,
) -> Session:
    """Open a store for sync use: `with sk.connect("./data") as db`.

    `tables` are the classes or tables of the program: opening fails if the store lacks what they need, and they are the
    default of `create_tables`. `secret` signs cursors; by default it is the environment's SORTKEY_CURSOR_SECRET, or a
    random one that lasts as long as the process. Each call ends after `timeout` seconds; None waits forever.
    `clock` has a method `now`, with seconds since 1970, for `sk.created` and `sk.updated`.
    `session` and `config` are of boto3, for an endpoint or AWS (docs/guides/client.md). `faults` are for
    tests, on a store in the process (docs/guides/faults.md). See docs/learn/first-item.md.
    """
    settings = options(tables, secret, timeout, pacing, clock)
    client = open_client(url, session=session, config=config, faults=faults)
    try:
        context = settings.context(client.capabilities())
        client.honour_fences()
    except BaseException:
        client.close()
        raise
    return Session(Runner(client, context, timeout), settings.tables)


def async_connect(
    url: str | os.PathLike[str],
    *,
    tables: Sequence[type[Item] | Table] = (),
    secret: str | bytes | None = None,
    timeout: float | None = TIMEOUT,
    pacing: Pacing | None = None,
    clock: Clock | None = None,
    session: Any = None,
    config: Any = None,
    faults: Faults | None = None,
) -> PendingSession:
    """Open a store for async use: `async with sk.async_connect("./data") as db`.

    `tables` are the classes or tables of the program: opening fails if the store lacks what they need, and they are the
    default of `create_tables`. `secret` signs cursors; by default it is the environment's SORTKEY_CURSOR_SECRET, or a
    random one that lasts as long as the process. Each call ends after `timeout` seconds; None waits forever.
    `clock` has a method `now`, with seconds since 1970, for `sk.created` and `sk.updated`.
    `session` and `config` are of aiobotocore, for an endpoint or AWS (docs/guides/client.md). `faults` are for
    tests, on a store in the process (docs/guides/faults.md). See docs/learn/first-item.md.
    """
    return PendingSession(url, session, config, faults, options(tables, secret, timeout, pacing, clock))


class PendingSession:
    """A session that `async with` or `await` opens."""

    def __init__(
        self,
        url: str | os.PathLike[str],
        aws_session: Any,
        config: Any,
        faults: Faults | None,
        settings: SessionOptions,
    ) -> None:
        self._url = url
        self._aws_session = aws_session
        self._config = config
        self._faults = faults
        self._options = settings
        self._session: AsyncSession | None = None

    async def _open(self) -> AsyncSession:
        client = async_client(self._url, session=self._aws_session, config=self._config, faults=self._faults)
        try:
            context = self._options.context(await client.capabilities())
            client.honour_fences()
        except BaseException:
            await client.close()
            raise
        return AsyncSession(AsyncRunner(client, context, self._options.timeout), self._options.tables)

    if not TYPE_CHECKING:
        # A type checker that saw this method would accept every name.
        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(
                f"the session of {self._url!r} is not open yet, so it has no {name!r}: "
                "async with sk.async_connect(…) as db, or db = await sk.async_connect(…)",
                name=name,
                obj=self,
            )

    def __await__(self) -> Generator[Any, None, AsyncSession]:
        return self._open().__await__()

    async def __aenter__(self) -> AsyncSession:
        self._session = await self._open()
        return self._session

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()

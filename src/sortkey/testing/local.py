"""`sk.testing.local`: a store in this process for a test, as a context manager and as a decorator."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import wraps
from typing import Any, Final, NamedTuple, TypeVar, overload
from unittest import TestCase

from sortkey.client import Faults, stores
from sortkey.clock import Clock
from sortkey.model.items.item import Item
from sortkey.model.items.table import Table
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.connect import async_connect, connect
from sortkey.model.sessions.session import Session
from sortkey.testing.interception import INTERCEPTION
from sortkey.testing.stores import OpenStore, Others

MEMORY: Final = "memory:"
_OPENED: Final = "_sortkey_local"
"""The attribute in which an instance of a decorated class has its store."""

F = TypeVar("F", bound=Callable[..., Any])


class _Settings(NamedTuple):
    tables: Sequence[type[Item] | Table]
    url: str | os.PathLike[str]
    clock: Clock | None
    faults: Faults | None
    others: Others


class Local:
    """What `local` returns: `with` and `async with` open the store, and so does each call of what it decorates."""

    def __init__(self, settings: _Settings) -> None:
        self._settings = settings
        self._open: list[tuple[Any, OpenStore]] = []
        """The session and the store of each `with` that has not ended, the innermost one last."""

    def __enter__(self) -> Session:
        given = self._settings
        session = connect(given.url, tables=given.tables, clock=given.clock, faults=given.faults)
        try:
            if given.tables:  # without any, `create_tables` creates those of all classes
                session.create_tables()
        except BaseException:
            session.close()
            raise
        self._intercept(session)
        return session

    def __exit__(self, *_: object) -> None:
        self._release().close()

    async def __aenter__(self) -> AsyncSession:
        given = self._settings
        session = await async_connect(given.url, tables=given.tables, clock=given.clock, faults=given.faults)
        try:
            if given.tables:
                await session.create_tables()
        except BaseException:
            await session.close()
            raise
        self._intercept(session)
        return session

    async def __aexit__(self, *_: object) -> None:
        await self._release().close()

    def _intercept(self, session: Session | AsyncSession) -> None:
        client = session.client
        self._open.append((session, INTERCEPTION.open(lambda: client.database, self._settings.others)))

    def _release(self) -> Any:
        session, store = self._open.pop()
        INTERCEPTION.close(store)
        return session

    def __call__(self, decorated: F) -> F:
        """Each call of a function, and each test of a class, gets a store of its own."""
        kept: Any = decorated
        if isinstance(decorated, type):
            _decorate_class(decorated, self._settings)
        elif inspect.isgeneratorfunction(decorated) or inspect.isasyncgenfunction(decorated):
            raise TypeError(f"{decorated.__qualname__} yields: use `with sk.testing.local():` inside of it")
        elif inspect.iscoroutinefunction(decorated):
            kept = _decorated_coroutine(decorated, self._settings)
        else:
            kept = _decorated_function(decorated, self._settings)
        result: F = kept
        return result


@overload
def local(
    *tables: type[Item] | Table,
    url: str | os.PathLike[str] = MEMORY,
    clock: Clock | None = None,
    faults: Faults | None = None,
    others: Others = "allow",
) -> Local: ...


@overload
def local(decorated: F, /) -> F: ...


def local(
    *tables: Any,
    url: str | os.PathLike[str] = MEMORY,
    clock: Clock | None = None,
    faults: Faults | None = None,
    others: Others = "allow",
) -> Any:
    """A store in this process for a test: a session with these tables. Until its end, every DynamoDB client and
    resource of boto3, aiobotocore and PynamoDB in the process uses the store, whatever its region and credentials.

        with sk.testing.local(Order) as db:              # or `async with`, for an sk.AsyncSession
            db.put(Order(customer="ada", number=1))
            boto3.client("dynamodb").scan(TableName="shop")

        @sk.testing.local
        def test_with_boto3_alone() -> None: ...

    It decorates functions, async functions and classes of tests, with or without arguments. The store is new, unless
    `url` names one of the process: `memory:NAME`, or a folder. `clock` is the session's, such as an
    `sk.testing.ManualClock`; `faults` are the store's (docs/guides/faults.md). Requests of other services are sent as
    ever; with `others="refuse"` they raise. See docs/learn/from-moto.md.
    """
    if stores.parse(url).remote is not None:
        raise ValueError(f"{os.fspath(url)!r} is not a store in the process: use 'memory:', 'memory:NAME' or a folder")
    if others not in ("allow", "refuse"):
        raise ValueError(f"others must be 'allow' or 'refuse', not {others!r}")
    if len(tables) == 1 and callable(tables[0]) and not _is_table(tables[0]):
        return Local(_Settings((), url, clock, faults, others))(tables[0])
    return Local(_Settings(tables, url, clock, faults, others))


def async_local(
    *tables: type[Item] | Table,
    url: str | os.PathLike[str] = MEMORY,
    clock: Clock | None = None,
    faults: Faults | None = None,
    others: Others = "allow",
) -> AbstractAsyncContextManager[AsyncSession]:
    """`local`, for `async with` alone."""
    return local(*tables, url=url, clock=clock, faults=faults, others=others)


def _is_table(given: object) -> bool:
    return isinstance(given, Table) or (isinstance(given, type) and issubclass(given, Item))


def _decorated_function(function: Callable[..., Any], settings: _Settings) -> Callable[..., Any]:
    @wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        with Local(settings):
            return function(*arguments, **named)

    return call


def _decorated_coroutine(function: Callable[..., Any], settings: _Settings) -> Callable[..., Any]:
    @wraps(function)
    async def call(*arguments: Any, **named: Any) -> Any:
        async with Local(settings):
            return await function(*arguments, **named)

    return call


def _decorate_class(tests: type[Any], settings: _Settings) -> None:
    """A test and what is set up for it share a store: with unittest by `run`, with pytest by `setup_method`, which
    comes before the fixtures of the class."""
    if issubclass(tests, TestCase):
        tests.run = _decorated_function(tests.run, settings)  # type: ignore[method-assign]
        return
    set_up, tear_down = (getattr(tests, name, None) for name in ("setup_method", "teardown_method"))

    def setup_method(self: Any, method: Any = None) -> None:
        opened = Local(settings)
        opened.__enter__()
        try:
            _call_with_method(set_up, self, method)
        except BaseException:
            opened.__exit__()
            raise
        setattr(self, _OPENED, opened)

    def teardown_method(self: Any, method: Any = None) -> None:
        try:
            _call_with_method(tear_down, self, method)
        finally:
            getattr(self, _OPENED).__exit__()

    vars_of: Any = tests
    vars_of.setup_method, vars_of.teardown_method = setup_method, teardown_method


def _call_with_method(function: Callable[..., Any] | None, self: Any, method: Any) -> None:
    """As pytest calls it: the method is an argument if it takes one."""
    if function is not None:
        function(self, *([method] if len(inspect.signature(function).parameters) > 1 else []))

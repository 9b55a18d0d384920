"""The interface of every client, whether its store is in the process or behind a network."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Collection, Coroutine, Sequence
from concurrent.futures import Future
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

from sortkey.client import paginators, waiters
from sortkey.client.boto3_shapes import Unparsed
from sortkey.client.errors import EXCEPTIONS, Exceptions
from sortkey.client.methods import Methods, R
from sortkey.client.service_model import OPERATION_OF, ClientMeta
from sortkey.client.stores import IN_FLIGHT, Capabilities

if TYPE_CHECKING:
    from botocore.paginate import Paginator
    from botocore.waiter import Waiter

    from sortkey.engine.database import Database


RETRIED_BY_CALLER: Final[ContextVar[bool]] = ContextVar("retried_by_caller", default=False)
"""Whether the caller waits and sends a write again by itself when the store throttles: it is told at once, where
botocore would try again first."""


def warn_unclosed(client: object, url: str) -> None:
    """Issues the ResourceWarning of a client that is collected without having been closed."""
    message = f"the store {url!r} was not closed; close its client or session, or use it in a with statement"
    warnings.warn(message, ResourceWarning, stacklevel=3, source=client)


class InProcessReads(Protocol):
    """Reads of a store in this process. They wait for nothing, so sync and async callers use the same ones."""

    def get_unparsed(self, table: str, key: dict[str, Any], consistent: bool) -> tuple[Unparsed | None, float]:
        """The item of a key, and the capacity units that the read took. The key must be valid, with binary as
        base64."""

    def lookup_unparsed(
        self, table: str, pairs: Collection[tuple[str, str]], consistent: bool, gaps: bool
    ) -> tuple[Unparsed, int, float] | None:
        """The items of distinct keys with a text partition key and a text sort key: a list, the number of items, and
        the capacity units. With `gaps`, the list has null for each missing item. None if the table's keys are not two
        texts, or anything is wrong; use BatchGetItem then."""


class PendingCommit(Protocol):
    """A commit that was submitted."""

    work_seconds: float
    """How long the writer's turn took."""
    sync_seconds: float
    """How long the commit took after that; known with the answer."""
    writes_before: int
    """How many writes the store had answered before it; known with the answer."""
    others_wait: bool
    """Whether other writes waited while it was committed; known with the answer."""

    @property
    def turn(self) -> Future[dict[str, Any]]:
        """Done when the writer's turn is over, and only the disk is waited for."""

    @property
    def answer(self) -> Future[dict[str, Any]]:
        """Done when all is on disk; has the ConsumedCapacity, and as `Unwritten` which rows, by their place, were not
        put because their condition was not met."""

    def give_up(self) -> None:
        """Withdraw it if it waits for another process that writes: its answer is FolderBusy then."""


class InProcessPuts(Protocol):
    """Rows that a store in this process puts together, in one commit."""

    def __len__(self) -> int: ...

    @property
    def bytes(self) -> int:
        """The size of the rows."""

    def add(
        self,
        table: str,
        row: dict[str, Any],
        condition: dict[str, Any] | None = None,
        *,
        size: int | None = None,
    ) -> None:
        """Add a row in boto3's shape. Raises the ClientError of a PutItem; the rows that were added before are kept.
        `condition` are the members of a PutItem that make its condition; it is compiled once for each dict. `size` is
        that of the row, if it is known; then the row is in canonical form, and has no binary."""

    def submit(self) -> PendingCommit:
        """Put the rows without waiting."""


Request = tuple[str, dict[str, Any]]
"""An operation, and its members."""
WriteTogether = Callable[[Sequence[Request]], Coroutine[Any, Any, list[dict[str, Any] | Exception]]]


class AnyClient(Methods[R]):
    """What the sync and the async clients have in common."""

    exceptions: Final[Exceptions] = EXCEPTIONS
    """DynamoDB's errors by name, for `except`."""
    meta: ClientMeta

    @property
    def database(self) -> Database | None:
        """The engine, if the store is in this process."""
        return None

    @property
    def in_flight(self) -> int:
        """How many reads, and how many writes, a session may have in flight at once."""
        return IN_FLIGHT

    @property
    def in_process_reads(self) -> InProcessReads | None:
        """Faster reads than requests, if the store is in this process."""
        return None

    @property
    def in_process_puts(self) -> Callable[[], InProcessPuts] | None:
        """Begins puts of many rows in one commit, if the store is in this process."""
        return None

    @abstractmethod
    def _call_unparsed(self, operation: str, members: dict[str, Any], binary: bool = True) -> R:
        """As `_call`, for an operation of `UNPARSED_READS`; items in the answer are `Unparsed`. `binary` tells whether
        binary may occur in the members; if not, they need no conversion."""

    def honour_fences(self) -> None:
        """Look at fences before each write, in a store that is known to have none of its own: see `fence_watch`."""

    def can_paginate(self, operation_name: str) -> bool:
        """Whether there is a paginator for a method, given by its name."""
        return paginators.can_paginate(operation_name)


class Client(AnyClient[dict[str, Any]]):
    """Calls return their answers. Any number of threads may share one client."""

    @abstractmethod
    def capabilities(self) -> Capabilities:
        """What the store can do. An endpoint is asked once."""

    @abstractmethod
    def wait_for_records(self, *, ShardIterator: str, Timeout: float) -> bool:
        """Wait until `get_records` has records for this iterator or the shard has ended; False after Timeout
        seconds."""

    @abstractmethod
    def close(self) -> None:
        """Release the store; later calls raise. The last client of a folder closes it."""

    def get_paginator(self, operation_name: str) -> Paginator[dict[str, Any]]:
        """botocore's paginator of a method, given by its name."""
        return paginators.paginator(operation_name, self._method(OPERATION_OF.get(operation_name, "")))

    def get_waiter(self, waiter_name: str) -> Waiter:
        """botocore's waiter, such as `table_exists`."""
        return waiters.waiter(waiter_name, self._method)

    def _method(self, operation: str) -> paginators.Call:
        """An operation as the method that botocore's paginators and waiters call."""
        return lambda **members: self._call(operation, members)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(AnyClient[Coroutine[Any, Any, dict[str, Any]]]):
    """Calls are awaited. Any number of tasks may share one client."""

    @property
    def write_together(self) -> WriteTogether | None:
        """Sends writes that share commits, each by itself, if the store is in this process. Returns their answers,
        without ResponseMetadata, or what each raises. It takes a third less than as many calls."""
        return None

    @abstractmethod
    async def capabilities(self) -> Capabilities:
        """What the store can do. An endpoint is asked once."""

    @abstractmethod
    async def wait_for_records(self, *, ShardIterator: str, Timeout: float) -> bool:
        """Wait until `get_records` has records for this iterator or the shard has ended; False after Timeout
        seconds."""

    @abstractmethod
    async def close(self) -> None:
        """Release the store; later calls raise. The last client of a folder closes it."""

    def get_paginator(self, operation_name: str) -> paginators.AsyncPaginator:
        """botocore's paginator of a method, given by its name; its pages are an async iterator."""
        return paginators.AsyncPaginator(operation_name, self._method(OPERATION_OF.get(operation_name, "")))

    def get_waiter(self, waiter_name: str) -> waiters.AsyncWaiter:
        """botocore's waiter, such as `table_exists`; its `wait` is awaited."""
        return waiters.AsyncWaiter(waiter_name, self._method)

    def _method(self, operation: str) -> paginators.AsyncCall:
        """An operation as the method that paginators and waiters call."""
        return lambda **members: self._call(operation, members)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

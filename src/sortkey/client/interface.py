"""What every client is, whether its store is inside the process or behind a network."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Final, Self

from sortkey.client import paginators, waiters
from sortkey.client.capabilities import Capabilities
from sortkey.client.errors import EXCEPTIONS, Exceptions
from sortkey.client.metadata import ClientMeta
from sortkey.client.methods import Methods, R
from sortkey.client.service_model import OPERATION_OF
from sortkey.engine.database import Database

if TYPE_CHECKING:
    from botocore.paginate import Paginator
    from botocore.waiter import Waiter


class AnyClient(Methods[R]):
    """What the sync and the async clients have in common."""

    exceptions: Final[Exceptions] = EXCEPTIONS
    """DynamoDB's errors by name, to be caught."""
    meta: ClientMeta

    @property
    def database(self) -> Database | None:
        """The engine underneath, where it is in this process; None where the store is elsewhere."""
        return None

    @abstractmethod
    def _read(self, operation: str, members: dict[str, Any], plain: bool = False) -> R:
        """As `_call`, for an operation of `unparsed.READS`; its items are left as `Unparsed`. `plain` says that there
        is no binary among the members, so that nobody has to look for any."""

    def can_paginate(self, operation_name: str) -> bool:
        """Whether there is a paginator for a method, given by its name."""
        return paginators.can_paginate(operation_name)


class Client(AnyClient[dict[str, Any]]):
    """Calls return their answers. Any number of threads may share one client."""

    @abstractmethod
    def capabilities(self) -> Capabilities:
        """What the store can do; an endpoint is asked once."""

    @abstractmethod
    def wait_for_records(self, *, ShardIterator: str, Timeout: float) -> bool:
        """Block until `get_records` has records for this iterator, or the shard has ended; False if not in time."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the store; calls after this raise. The last client of a folder closes it."""

    def get_paginator(self, operation_name: str) -> Paginator[dict[str, Any]]:
        """botocore's paginator of a method, given by its name."""
        return paginators.paginator(operation_name, self._calling(OPERATION_OF.get(operation_name, "")))

    def get_waiter(self, waiter_name: str) -> Waiter:
        """botocore's waiter, such as `table_exists`."""
        return waiters.waiter(waiter_name, self._calling)

    def _calling(self, operation: str) -> paginators.Call:
        """An operation's method, as botocore's paginators and waiters call it."""
        return lambda **members: self._call(operation, members)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(AnyClient[Coroutine[Any, Any, dict[str, Any]]]):
    """Calls are awaited. Any number of tasks may share one client."""

    @abstractmethod
    async def capabilities(self) -> Capabilities:
        """What the store can do; an endpoint is asked once."""

    @abstractmethod
    async def wait_for_records(self, *, ShardIterator: str, Timeout: float) -> bool:
        """Await records for this iterator in `get_records`, or the end of its shard; False if not in time."""

    @abstractmethod
    async def close(self) -> None:
        """Let go of the store; calls after this raise. The last client of a folder closes it."""

    def get_paginator(self, operation_name: str) -> paginators.AsyncPaginator:
        """A paginator of a method, given by its name; its pages are an async iterator."""
        return paginators.async_paginator(operation_name, self._calling(OPERATION_OF.get(operation_name, "")))

    def get_waiter(self, waiter_name: str) -> waiters.AsyncWaiter:
        """A waiter such as `table_exists`; its `wait` is awaited."""
        return waiters.AsyncWaiter(waiter_name, self._calling)

    def _calling(self, operation: str) -> paginators.AsyncCall:
        return lambda **members: self._call(operation, members)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

"""Paginators: botocore's own, and async ones on top of it.

botocore decides everything for both: which token continues a listing, where `MaxItems` cuts a page, what resumes it. It
is imported with the first paginator, not at the top: it is slow to import, and rarely used.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from botocore import xform_name
from botocore.exceptions import OperationNotPageableError

from sortkey.client.service_model import OPERATION_OF, load_data, operation_model
from sortkey.engine.requests import OPERATIONS

if TYPE_CHECKING:
    from botocore.paginate import PageIterator, Paginator

Call = Callable[..., dict[str, Any]]
AsyncCall = Callable[..., Coroutine[Any, Any, dict[str, Any]]]

_END: Final = object()
_THREADS: Final = 32
"""How many listings read their next page at the same time; others wait."""


def can_paginate(method: str) -> bool:
    return method in _configurations()


def paginator(method: str, call: Call) -> Paginator[dict[str, Any]]:
    """botocore's paginator of a method, which `call` calls. Raises its OperationNotPageableError."""
    configuration = _configurations().get(method)
    if configuration is None:
        raise OperationNotPageableError(operation_name=method)
    botocore = import_module("botocore.paginate")
    made: Paginator[dict[str, Any]] = botocore.Paginator(call, configuration, operation_model(OPERATION_OF[method]))
    return made


@cache
def _configurations() -> dict[str, dict[str, Any]]:
    paginated = load_data("dynamodb", "paginators-1")["pagination"]
    return {xform_name(operation): config for operation, config in paginated.items() if operation in OPERATIONS}


class AsyncPaginator:
    """botocore's paginator with pages that are an async iterator."""

    def __init__(self, method: str, call: AsyncCall) -> None:
        """Raises botocore's OperationNotPageableError."""
        self._method = method
        self._call = call
        self.result_keys = paginator(method, _Requests(call)).result_keys
        """As botocore's."""

    def paginate(self, **members: Any) -> AsyncPages:
        """The pages of a request."""
        requests = _Requests(self._call)
        return AsyncPages(requests, paginator(self._method, requests).paginate(**members))


@cache
def _threads() -> ThreadPoolExecutor:
    # Not the threads of the event loop, which it may need to send the requests that these wait for.
    return ThreadPoolExecutor(_THREADS, "sortkey-pages")


class _Requests:
    """The requests of botocore's iterators, which run on threads; they are sent by the event loop."""

    def __init__(self, call: AsyncCall) -> None:
        self._call = call
        self.loop: asyncio.AbstractEventLoop | None = None

    def __call__(self, **members: Any) -> dict[str, Any]:
        assert self.loop is not None
        return asyncio.run_coroutine_threadsafe(self._call(**members), self.loop).result()


class AsyncPages:
    """The pages of a request: botocore's iterator, which cannot await, takes its steps on a thread."""

    def __init__(self, requests: _Requests, pages: PageIterator[dict[str, Any]]) -> None:
        self._requests = requests
        self._pages = pages

    @property
    def resume_token(self) -> Any:
        """The `StartingToken` that goes on after `MaxItems`; None at the end."""
        return self._pages.resume_token

    async def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        async for page in self._steps(iter(self._pages)):
            yield page

    async def search(self, expression: str) -> AsyncIterator[Any]:
        """What a JMESPath expression finds in each page; the elements of a list one by one."""
        async for found in self._steps(iter(self._pages.search(expression))):
            yield found

    async def build_full_result(self) -> dict[str, Any]:
        """All pages as one answer."""
        return dict(await self._on_thread(self._pages.build_full_result))

    async def _steps(self, steps: Iterator[Any]) -> AsyncIterator[Any]:
        while (step := await self._on_thread(next, steps, _END)) is not _END:
            yield step

    async def _on_thread(self, step: Callable[..., Any], *arguments: Any) -> Any:
        self._requests.loop = loop = asyncio.get_running_loop()
        return await loop.run_in_executor(_threads(), copy_context().run, step, *arguments)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        raise TypeError("iterate over these pages with 'async for'")

"""Paginators: botocore's and aiobotocore's own, over the methods of a client.

Both are imported by the first paginator that is asked for, not at the top: they are slow to import, and few ask.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from botocore import xform_name
from botocore.exceptions import OperationNotPageableError

from sortkey.client.service_model import OPERATION_OF, load, operation_model
from sortkey.engine.requests import OPERATIONS
from sortkey.extras import installed_by

if TYPE_CHECKING:
    from botocore.paginate import Paginator

Call = Callable[..., dict[str, Any]]
AsyncCall = Callable[..., Coroutine[Any, Any, dict[str, Any]]]


def can_paginate(method: str) -> bool:
    return method in _configurations()


def paginator(method: str, call: Call) -> Paginator[dict[str, Any]]:
    """botocore's paginator of a method, which it reaches by `call`. Raises its OperationNotPageableError."""
    made: Paginator[dict[str, Any]] = import_module("botocore.paginate").Paginator(
        call, _configuration(method), operation_model(OPERATION_OF[method])
    )
    return made


class AsyncPages(Protocol):
    """aiobotocore's iterator of pages, as far as it is promised."""

    @property
    def resume_token(self) -> Any:
        """Where to go on after `MaxItems`, for `StartingToken`."""

    def __aiter__(self) -> AsyncIterator[dict[str, Any]]: ...

    def build_full_result(self) -> Coroutine[Any, Any, dict[str, Any]]:
        """All pages as one answer."""


class AsyncPaginator(Protocol):
    def paginate(self, **members: Any) -> AsyncPages:
        """The pages of a request."""


def async_paginator(method: str, call: AsyncCall) -> AsyncPaginator:
    """aiobotocore's paginator of a method, which it reaches by `call`. Raises OperationNotPageableError."""

    async def leaving_a_turn(**members: Any) -> dict[str, Any]:
        answer = await call(**members)
        # An embedded read awaits nothing; the event loop's other tasks get their turn, however many pages there are.
        await asyncio.sleep(0)
        return answer

    with installed_by("aws"):
        paginate = import_module("aiobotocore.paginate")
    made: AsyncPaginator = paginate.AioPaginator(
        leaving_a_turn, _configuration(method), operation_model(OPERATION_OF[method])
    )
    return made


def _configuration(method: str) -> dict[str, Any]:
    configuration = _configurations().get(method)
    if configuration is None:
        raise OperationNotPageableError(operation_name=method)
    return configuration


@cache
def _configurations() -> dict[str, dict[str, Any]]:
    paginated = load("dynamodb", "paginators-1")["pagination"]
    return {xform_name(operation): config for operation, config in paginated.items() if operation in OPERATIONS}

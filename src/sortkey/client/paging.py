"""Paginators: botocore's own, over the methods of a client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import cache
from typing import Any, cast

from botocore import xform_name
from botocore.exceptions import OperationNotPageableError
from botocore.paginate import PageIterator, Paginator

from sortkey.client.service_model import OPERATION_OF, load, operation_model
from sortkey.engine.requests import OPERATIONS

Call = Callable[..., dict[str, Any]]


def can_paginate(method: str) -> bool:
    return method in _configurations()


def paginator(method: str, call: Call) -> Paginator[dict[str, Any]]:
    """botocore's paginator of a method, which it reaches by `call`. Raises its OperationNotPageableError."""
    configuration = _configurations().get(method)
    if configuration is None:
        raise OperationNotPageableError(operation_name=method)
    return Paginator(cast(Any, call), configuration, operation_model(OPERATION_OF[method]))


class AsyncPaginator:
    """botocore's paginator: every paginated operation reads, so a page never has to be awaited."""

    def __init__(self, pages: Paginator[dict[str, Any]]) -> None:
        self._paginator = pages

    def paginate(self, **members: Any) -> AsyncPages:
        return AsyncPages(self._paginator.paginate(**members))


class AsyncPages:
    def __init__(self, pages: PageIterator[dict[str, Any]]) -> None:
        self._pages = pages

    @property
    def resume_token(self) -> Any:
        """Where to go on after `MaxItems`, for `StartingToken`."""
        return self._pages.resume_token

    async def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        for page in self._pages:
            yield page
            # The event loop's other tasks get their turn, however many pages there are.
            await asyncio.sleep(0)


@cache
def _configurations() -> dict[str, dict[str, Any]]:
    paginated = load("dynamodb", "paginators-1")["pagination"]
    return {xform_name(operation): config for operation, config in paginated.items() if operation in OPERATIONS}

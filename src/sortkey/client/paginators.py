"""Paginators: botocore's own, and async ones on top of it.

Both are imported with the first paginator, not at the top: they are slow to import, and rarely used.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from botocore import xform_name
from botocore.exceptions import OperationNotPageableError

from sortkey.client.service_model import OPERATION_OF, load, operation_model
from sortkey.engine.requests import OPERATIONS

if TYPE_CHECKING:
    from botocore.paginate import Paginator

    from sortkey.client.async_pages import AsyncPaginator

Call = Callable[..., dict[str, Any]]
AsyncCall = Callable[..., Coroutine[Any, Any, dict[str, Any]]]


def can_paginate(method: str) -> bool:
    return method in _configurations()


def paginator(method: str, call: Call) -> Paginator[dict[str, Any]]:
    """botocore's paginator of a method, which `call` calls. Raises its OperationNotPageableError."""
    made: Paginator[dict[str, Any]] = _paginator("botocore.paginate", "Paginator", method, call)
    return made


def async_paginator(method: str, call: AsyncCall) -> AsyncPaginator:
    """The same, with pages that are an async iterator."""
    made: AsyncPaginator = _paginator("sortkey.client.async_pages", "AsyncPaginator", method, call)
    return made


def _paginator(module: str, name: str, method: str, call: Call | AsyncCall) -> Any:
    configuration = _configurations().get(method)
    if configuration is None:
        raise OperationNotPageableError(operation_name=method)
    paginator_class = getattr(import_module(module), name)
    return paginator_class(call, configuration, operation_model(OPERATION_OF[method]))


@cache
def _configurations() -> dict[str, dict[str, Any]]:
    paginated = load("dynamodb", "paginators-1")["pagination"]
    return {xform_name(operation): config for operation, config in paginated.items() if operation in OPERATIONS}

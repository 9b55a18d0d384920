"""Waiters: botocore's own, and async ones that follow the same configurations.

botocore's are imported with the first waiter, not at the top: they are slow to import, and rarely used.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from botocore import xform_name
from botocore.exceptions import ClientError, WaiterError

from sortkey.client.service_model import load_data
from sortkey.engine.requests import OPERATIONS

if TYPE_CHECKING:
    from botocore.waiter import AcceptorConfig, SingleWaiterConfig, Waiter

Call = Callable[..., dict[str, Any]]
AsyncCall = Callable[..., Coroutine[Any, Any, dict[str, Any]]]


def waiter(name: str, methods: Callable[[str], Call]) -> Waiter:
    """`methods` returns the method of an operation. Raises ValueError for a waiter that boto3 or the engine lacks."""
    config = _configuration(name)
    botocore = _botocore()
    made: Waiter = botocore.Waiter(name, config, botocore.NormalizedOperationMethod(methods(config.operation)))
    return made


class AsyncWaiter:
    """botocore's waiter, awaited."""

    def __init__(self, name: str, methods: Callable[[str], AsyncCall]) -> None:
        self.name = name
        self.config = _configuration(name)
        self._call = methods(self.config.operation)

    async def wait(self, **members: Any) -> None:
        """Wait until the condition holds. Raises botocore's WaiterError if it cannot, or after the last attempt."""
        limits = members.pop("WaiterConfig", {})
        delay = limits.get("Delay", self.config.delay)
        attempts = limits.get("MaxAttempts", self.config.max_attempts)
        explanation = ""
        while True:
            response = await self._answer(members)
            attempts -= 1
            matched = self._matched(response)
            if matched is not None:
                if matched.state == "success":
                    return
                explanation = f". Previously accepted state: {matched.explanation}"
            if attempts <= 0:
                raise WaiterError(self.name, f"Max attempts exceeded{explanation}", response)
            await asyncio.sleep(delay)

    async def _answer(self, members: dict[str, Any]) -> Any:
        """The answer, or an error's response: acceptors match both."""
        try:
            return await self._call(**members)
        except ClientError as error:
            return error.response

    def _matched(self, response: Any) -> AcceptorConfig | None:
        """The acceptor that matches this response, if any; raises WaiterError if it is a failure."""
        for acceptor in self.config.acceptors:
            if acceptor.matcher_func(response):
                if acceptor.state == "failure":
                    reason = f"Waiter encountered a terminal failure state: {acceptor.explanation}"
                    raise WaiterError(self.name, reason, response)
                return acceptor
        if _botocore().is_valid_waiter_error(response):
            error = response["Error"]
            raise WaiterError(self.name, f"An error occurred ({error['Code']}): {error['Message']}", response)
        return None


def _configuration(name: str) -> SingleWaiterConfig:
    config = _configurations().get(name)
    if config is None:
        raise ValueError(f"Waiter does not exist: {name}")
    return config


@cache
def _configurations() -> dict[str, SingleWaiterConfig]:
    model = _botocore().WaiterModel(load_data("dynamodb", "waiters-2"))
    configs = {xform_name(name): model.get_waiter(name) for name in model.waiter_names}
    return {name: config for name, config in configs.items() if config.operation in OPERATIONS}


def _botocore() -> Any:
    return import_module("botocore.waiter")

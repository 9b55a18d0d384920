"""Who sent a request, for handlers that ask."""

from __future__ import annotations

from typing import Any, Final

from litestar import Request
from litestar.di import Provide

from sortkey.server.exchange import Exchange, exchange_of
from sortkey.server.tokens import Right, Tokens

CALLER: Final = "caller"
"""The handler's argument."""


class ExchangeCaller:
    """The sender of an exchange."""

    __slots__ = ("_exchange", "_service", "_tokens")

    def __init__(self, exchange: Exchange, tokens: Tokens, service: str) -> None:
        self._exchange = exchange
        self._tokens = tokens
        self._service = service

    @property
    def address(self) -> str:
        return self._exchange.client

    def require(self, right: Right) -> None:
        self._tokens.check(self._exchange.headers, f"{self._service}:{right}")


def caller_dependency(tokens: Tokens, service: str) -> Provide:
    """The same on Litestar's general path."""

    def caller(request: Request[Any, Any, Any]) -> ExchangeCaller:
        return ExchangeCaller(exchange_of(request.scope), tokens, service)

    return Provide(caller, sync_to_thread=False)

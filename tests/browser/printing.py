"""`sortkey` with one service: a printer of orders, which jams at the unlucky ones until somebody mends it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from litestar import post
from litestar.types import ControllerRouterHandler

import sortkey as sk
from sortkey.cli.main import main
from tests.registered import register_only

ORDERS = sk.Table("orders", stream="NEW_AND_OLD_IMAGES")


class Order(sk.Item, table=ORDERS):
    customer: str
    number: int
    text: str = ""
    due: datetime | None = None

    key = sk.Key("CUSTOMER#{customer}", "ORDER#{number:06}")


SENDING = sk.patterns.schedule("sending", Order, at="due")


class Printer:
    name = "printing"

    def __init__(self, session: sk.AsyncSession, _: Mapping[str, Any]) -> None:
        self._session = session
        self._jams = True
        self.feeds: Sequence[sk.feeds.ChangeFeed[Any] | sk.feeds.Timers[Any]] = [
            sk.feeds.ChangeFeed("printing", Order, self.print, attempts=1),
            sk.feeds.Timers(SENDING, self.send),
        ]

    async def start(self) -> None:
        await self._session.create_tables(Order)

    async def print(self, changes: Sequence[sk.Change[Order]]) -> None:
        if self._jams and any(each.new is not None and "13" in each.new.text for each in changes):
            raise ValueError("the paper has jammed")

    async def send(self, due: object) -> None:
        """Nothing is due before the tests end."""

    @property
    def routes(self) -> Sequence[ControllerRouterHandler]:
        @post("/printing/mend", status_code=204)
        async def mend() -> None:
            self._jams = False

        return [mend]


DEFINITION = sk.services.ServiceDefinition("printing", "prints orders", lambda _: [Order], Printer, has_feeds=True)

if __name__ == "__main__":
    register_only(printing="tests.browser.printing:DEFINITION")
    sys.exit(main())

"""Stores and their time zones: what a local `effectiveAt` means.

    PUT /pricing/stores/12345 {"timeZone": "Europe/Berlin"}

A store without a time zone of its own has that of the settings. The zone counts when a change is asked for: changes
that are scheduled keep their instants when it is set to another one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated

import msgspec
from litestar import get, put
from litestar.params import FromPath, JSONBody, QueryParameter
from litestar.types import ControllerRouterHandler

import sortkey as sk
from sortkey.services.pages import PageAnswer, PageArguments, page_answer
from sortkey_services.pricing.checks import Mistake, check_id, check_time_zone
from sortkey_services.pricing.model import StoreRow
from sortkey_services.pricing.reads import DEFAULT_ITEMS, MAX_ITEMS, page_request
from sortkey_services.slices import in_slices


class Store(msgspec.Struct, frozen=True, rename="camel"):
    store: str
    time_zone: str | None
    """None if neither the store nor the settings have one."""
    is_default: bool
    """Whether the time zone is that of the settings."""


class StoreSettings(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    time_zone: str | None
    """None: that of the settings."""


class Stores:
    def __init__(self, session: sk.AsyncSession, default: str | None) -> None:
        """`default` is the time zone of stores that have none of their own."""
        self._session = session
        self._default = default

    async def store(self, store: str) -> Store:
        """Raises BadRequest."""
        (row,) = await self._rows([_checked(store)])
        return self._shown(store, None if row is None else row.time_zone)

    async def set_time_zone(self, store: str, time_zone: str | None) -> Store:
        """None: that of the settings. Raises BadRequest."""
        path = StoreRow.key(store=_checked(store))
        if time_zone is None:
            await self._session.delete(path)
        else:
            try:
                check_time_zone(time_zone)
            except Mistake as error:
                raise sk.services.BadRequest(f"timeZone: {error}") from None
            await self._session.put(StoreRow(store=store, time_zone=time_zone))
        return self._shown(store, time_zone)

    async def page(self, page: PageArguments) -> sk.Page[StoreRow]:
        """The stores with a time zone of their own, by their ids."""
        return await self._session.page(StoreRow.key(), **page, consistent=True, undecodable="skip")

    async def time_zones(self, stores: Collection[str]) -> dict[str, str]:
        """Of those that have one."""
        found: dict[str, str] = {}
        async for some in in_slices(stores):
            rows = await self._rows(some)
            zones = zip(some, (self._default if row is None else row.time_zone for row in rows), strict=True)
            found |= {store: zone for store, zone in zones if zone is not None}
        return found

    async def _rows(self, stores: Sequence[str]) -> Sequence[StoreRow | None]:
        """Raises Conflict for a row that another program has made unreadable."""
        try:
            return await self._session.get_many([StoreRow.key(store=store) for store in stores], consistent=True)
        except sk.DecodeError as error:
            raise sk.services.Conflict(
                f"a time zone cannot be read, because another program has changed it; set it again: {error}",
                "unreadable",
            ) from error

    def _shown(self, store: str, own: str | None) -> Store:
        return Store(store, own or self._default, own is None)


def _checked(store: str) -> str:
    try:
        return check_id("store", store)
    except Mistake as error:
        raise sk.services.BadRequest(str(error)) from None


def store_routes(stores: Stores) -> list[ControllerRouterHandler]:
    @get("/pricing/stores", opt={"fast": True}, summary="Stores with a time zone of their own")
    async def listed(
        first: Annotated[int | None, QueryParameter(description=f"The first items; {DEFAULT_ITEMS} by default")] = None,
        after: Annotated[str | None, QueryParameter(description="after this cursor")] = None,
        last: Annotated[int | None, QueryParameter(description=f"The last items; {MAX_ITEMS:,} at most")] = None,
        before: Annotated[str | None, QueryParameter(description="before this cursor")] = None,
    ) -> PageAnswer[Store]:
        page = await stores.page(page_request(first, after, last, before))
        return page_answer(page, lambda row: Store(row.store, row.time_zone, is_default=False))

    @get("/pricing/stores/{store:str}", opt={"fast": True}, summary="A store's time zone")
    async def shown(store: FromPath[str]) -> Store:
        return await stores.store(store)

    @put("/pricing/stores/{store:str}", opt={"fast": True}, summary="Set a store's time zone")
    async def changed(store: FromPath[str], data: JSONBody[StoreSettings]) -> Store:
        """An IANA name, such as Europe/Berlin. With `null` the store has that of the settings. Changes that are
        scheduled keep their instants."""
        return await stores.set_time_zone(store, data.time_zone)

    return [listed, shown, changed]

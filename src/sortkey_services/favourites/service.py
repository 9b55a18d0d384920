"""The favourites service: marks and unmarks, lists in both directions, counts and top lists. Its settings:

    [favourites]
    timezone = "Europe/London"

The time zone decides in which day, month and year a favourite counts. It must not change while there are favourites:
those counted before would be taken out of windows that they are not in. `sortkey recount favourites --repair` counts
them anew.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from random import Random
from typing import Annotated, Any, Final

import msgspec
from litestar import delete, get, put
from litestar.params import FromPath, QueryParameter
from litestar.types import ControllerRouterHandler

import sortkey as sk
from sortkey.clock import Clock, SystemClock
from sortkey.services.pages import PAGE, AskedPage, PageAnswer, PageArguments, PageInfo, page_answer
from sortkey_services.favourites import demo
from sortkey_services.favourites.model import COUNTS, FAVOURITES, FORMER_TOP, Favourite, FavouriteCount, counts_of

ALL_TIME: Final = "ALL_TIME"
MAX_ID_BYTES: Final = 256
MAX_TOP: Final = 1000
FOLDED: Final = 5000
"""Changes that are counted together: the more there are, the fewer writes does one of them take. They are small."""
DEMO_ROWS_AT_ONCE: Final = 500
DEMO_SECONDS: Final = 0.5
"""Between two visits."""
_CALENDAR: Final = re.compile(r"(?a)\d{4}(-\d\d(-\d\d)?)?")

Window = Annotated[str, QueryParameter(description="ALL_TIME, or a year, month or day: 2026, 2026-08, 2026-08-24")]
Limit = Annotated[int, QueryParameter(description=f"From 1 to {MAX_TOP:,}")]
After = Annotated[str | None, QueryParameter(description="Those after this cursor")]
Before = Annotated[str | None, QueryParameter(description="Those before this cursor")]


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    timezone: str = "UTC"

    @property
    def counts(self) -> sk.patterns.Aggregate:
        return counts_of(self.timezone)


DEFAULTS: Final = Settings()


def read_settings(given: Mapping[str, Any]) -> Settings:
    """Raises BadSettings."""
    try:
        settings = msgspec.convert(given, Settings)
        counts_of(settings.timezone)
    except msgspec.ValidationError as error:
        raise sk.services.BadSettings(f"favourites: {error}") from None
    except sk.DeclarationError as error:
        raise sk.services.BadSettings(f"favourites: timezone: {error}") from None
    return settings


class FavouriteAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    favourite: bool
    since: datetime | None = None


class FavouriteOfUser(msgspec.Struct, frozen=True):
    restaurant: str
    since: datetime


class Fan(msgspec.Struct, frozen=True):
    user: str
    since: datetime


class CountAnswer(msgspec.Struct, frozen=True, rename="camel"):
    restaurant: str
    window: str
    count: int
    updated_at: datetime | None
    """None if nothing was counted yet."""


class TopRestaurant(msgspec.Struct, frozen=True):
    restaurant: str
    count: int


class TopAnswer(msgspec.Struct, frozen=True, rename="camel"):
    window: str
    restaurants: list[TopRestaurant]
    page_info: PageInfo


class FavouritesService:
    name = "favourites"

    def __init__(self, session: sk.AsyncSession, settings: Settings = DEFAULTS, clock: Clock | None = None) -> None:
        self._session = session
        self._clock = clock or SystemClock()
        counts = settings.counts.aggregator(session)
        self.feeds = [sk.feeds.ChangeFeed("favourite-counts", Favourite, counts.on_changes, max_batch=FOLDED)]

    async def start(self) -> None:
        await self._session.replace_index(FavouriteCount.top, FORMER_TOP)
        await self._session.create_tables(FAVOURITES, COUNTS)

    async def load_demo(self, progress: sk.services.Progress) -> None:
        last = demo.EXAMPLES[-1]
        if await self.since(last.user, last.restaurant) is not None:
            return
        favourites = demo.favourites()
        for done in range(0, len(favourites), DEMO_ROWS_AT_ONCE):
            # In order: if the last one is stored, all are.
            await self._session.batch(put=favourites[done : done + DEMO_ROWS_AT_ONCE])
            progress(min(done + DEMO_ROWS_AT_ONCE, len(favourites)), len(favourites))

    async def run_demo(self) -> None:
        """Visitors mark and unmark restaurants, until it is cancelled."""
        visitors = demo.Visitors(Random(self._clock.now()))
        while True:
            visit = visitors.next()
            await (self.mark if visit.marks else self.unmark)(visit.user, visit.restaurant)
            await asyncio.sleep(DEMO_SECONDS)

    async def mark(self, user: str, restaurant: str) -> datetime:
        """Makes it a favourite, in one conditional write; returns since when it is one."""
        path = _path(user, restaurant)
        favourite = Favourite(user=user, restaurant=restaurant, since=datetime.fromtimestamp(self._clock.now(), UTC))
        while not await self._session.put(favourite, if_absent=True):
            stored = await self._session.get(path, consistent=True)
            if stored is not None:
                return stored.since
            # It was unmarked between the two requests.
        return favourite.since

    async def unmark(self, user: str, restaurant: str) -> None:
        await self._session.delete(_path(user, restaurant))

    async def since(self, user: str, restaurant: str) -> datetime | None:
        """Since when it is a favourite; None if it is not."""
        stored = await self._session.get(_path(user, restaurant), consistent=True)
        return None if stored is None else stored.since

    async def favourites_of(self, user: str, page: PageArguments) -> sk.Page[Favourite]:
        """A user's favourites, newest first."""
        return await self._session.page(Favourite.mine(user=user), descending=True, consistent=True, **page)

    async def fans_of(self, restaurant: str, page: PageArguments) -> sk.Page[Favourite]:
        """Whose favourite it is, newest first."""
        return await self._session.page(Favourite.fans(restaurant=restaurant), descending=True, **page)

    async def count(self, restaurant: str, window: str) -> FavouriteCount:
        check_id("restaurant", restaurant)
        check_window(window)
        found = await self._session.get(FavouriteCount.key(restaurant=restaurant, window=window))
        return found or FavouriteCount(restaurant=restaurant, window=window)

    async def top(self, window: str, page: PageArguments) -> sk.Page[FavouriteCount]:
        """The restaurants with the most favourites, by count downward, ties by id.

        A cursor is a place in this order. A restaurant whose count stays the same while the pages are read is in
        exactly one of them; one that moves across the cursor meanwhile may be in two or in none."""
        check_window(window)
        return await self._session.page(FavouriteCount.top(window=window).after(0), **page)

    @property
    def routes(self) -> Sequence[ControllerRouterHandler]:
        @put("/favourites/{user:str}/{restaurant:str}", opt={"fast": True}, summary="Mark a restaurant as a favourite")
        async def mark(user: FromPath[str], restaurant: FromPath[str]) -> FavouriteAnswer:
            """A restaurant that is marked already stays as it is."""
            return FavouriteAnswer(True, await self.mark(user, restaurant))

        @delete(
            "/favourites/{user:str}/{restaurant:str}",
            status_code=200,
            opt={"fast": True},
            summary="Unmark a restaurant",
        )
        async def unmark(user: FromPath[str], restaurant: FromPath[str]) -> FavouriteAnswer:
            """Also if it is not marked."""
            await self.unmark(user, restaurant)
            return FavouriteAnswer(False)

        @get("/favourites/{user:str}/{restaurant:str}", opt={"fast": True}, summary="Whether it is a favourite")
        async def ask(user: FromPath[str], restaurant: FromPath[str]) -> FavouriteAnswer:
            since = await self.since(user, restaurant)
            return FavouriteAnswer(since is not None, since)

        @get("/favourites/{user:str}", dependencies={"page": PAGE}, summary="A user's favourites, newest first")
        async def favourites(user: FromPath[str], page: AskedPage) -> PageAnswer[FavouriteOfUser]:
            check_id("user", user)
            found = await self.favourites_of(user, page)
            return page_answer(found, lambda each: FavouriteOfUser(each.restaurant, each.since))

        @get("/restaurants/{restaurant:str}/fans", dependencies={"page": PAGE}, summary="Its fans, newest first")
        async def fans(restaurant: FromPath[str], page: AskedPage) -> PageAnswer[Fan]:
            check_id("restaurant", restaurant)
            found = await self.fans_of(restaurant, page)
            return page_answer(found, lambda each: Fan(each.user, each.since))

        @get("/restaurants/{restaurant:str}/favourites", summary="How many favourites it has")
        async def count(restaurant: FromPath[str], window: Window = ALL_TIME) -> CountAnswer:
            """Marks count in the windows of the instant at which they were made."""
            found = await self.count(restaurant, window)
            return CountAnswer(found.restaurant, found.window, found.count, found.updated)

        @get("/restaurants/top", summary="The restaurants with the most favourites")
        async def top(
            window: Window = ALL_TIME, limit: Limit = 10, after: After = None, before: Before = None
        ) -> TopAnswer:
            """By count downward, ties by id, without those that nobody has marked."""
            found = await self.top(window, top_page(limit, after, before))
            shown = page_answer(found, lambda each: TopRestaurant(each.restaurant, each.count))
            return TopAnswer(window, shown.items, shown.page_info)

        return [mark, unmark, ask, favourites, fans, count, top]


def check_window(window: str) -> None:
    """Raises BadRequest unless it is ALL_TIME, a year, a month or a day of the calendar."""
    if window == ALL_TIME:
        return
    if _CALENDAR.fullmatch(window):
        try:
            date.fromisoformat(window + "-01-01"[len(window) - 4 :])
        except ValueError:
            pass
        else:
            return
    raise sk.services.BadRequest(f"window: must be {ALL_TIME}, or a year, month or day as 2026, 2026-08 or 2026-08-24")


def top_page(limit: int, after: str | None = None, before: str | None = None) -> PageArguments:
    """The part of a top list that is asked for. Raises BadRequest."""
    if not 1 <= limit <= MAX_TOP:
        raise sk.services.BadRequest(f"limit: must be from 1 to {MAX_TOP:,}, not {limit}")
    if after is not None and before is not None:
        raise sk.services.BadRequest("use after or before, not both")
    if before is not None:
        return PageArguments(first=None, after=None, last=limit, before=before)
    return PageArguments(first=limit, after=after, last=None, before=None)


def check_id(name: str, value: str) -> None:
    """Raises BadRequest for an id that no key can hold."""
    if not 1 <= len(value.encode()) <= MAX_ID_BYTES:
        raise sk.services.BadRequest(f"{name}: must have 1 to {MAX_ID_BYTES} bytes, not {len(value.encode())}")


def _path(user: str, restaurant: str) -> sk.AccessPath[Favourite]:
    check_id("user", user)
    check_id("restaurant", restaurant)
    return Favourite.key(user=user, restaurant=restaurant)

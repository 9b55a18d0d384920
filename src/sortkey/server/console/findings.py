"""What is wrong, and what to do about it: the findings of `sortkey doctor`, and those of this process's own numbers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from sortkey.client import stores
from sortkey.clock import monotonic
from sortkey.diagnosis.endpoint import examine_endpoint
from sortkey.diagnosis.finding import Finding, Status, fail, warn
from sortkey.diagnosis.folder import examine_file_system, examine_space, examine_sync
from sortkey.diagnosis.machine import examine_machine
from sortkey.limits import PARTITION_READ_UNITS, PARTITION_WRITE_UNITS
from sortkey.server.console.access import Viewer
from sortkey.server.console.feeds import FeedShown
from sortkey.server.console.routes import Body, Message, Route, Routes, forbidden, instant
from sortkey.server.console.sources import Sources

KEPT_SECONDS: Final = 600.0
"""For which an examination is good: it writes to the disk to measure it."""
LATE_SECONDS: Final = 20.0
"""From which on a feed is behind."""
_WORST_FIRST: Final = (Status.FAIL, Status.WARN, Status.OK)


class FindingShown(Message):
    subject: str
    status: str
    found: str
    advice: str


class FindingsShown(Message):
    at: str
    findings: list[FindingShown]


class FindingsRequest(Body):
    fresh: bool = False


class Findings:
    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._examined: list[Finding] = []
        self._examined_at = -KEPT_SECONDS
        self._at = sources.clock.now()
        self._of_feeds: list[Finding] = []
        self._of_partitions: list[Finding] = []
        self._away: Finding | None = None
        self._examining = asyncio.Lock()
        self._soon: asyncio.Task[None] | None = None

    def routes(self) -> Routes:
        return {"findings": Route(FindingsRequest, self.findings)}

    async def findings(self, viewer: Viewer, wanted: FindingsRequest) -> FindingsShown:
        if not viewer.sees_service(None):
            raise forbidden("The findings are about the machine; a token for one service may not see them.")
        await self.refresh(0.0 if wanted.fresh else KEPT_SECONDS)
        return FindingsShown(instant(self._at), [_shown(each) for each in self._all()])

    async def refresh(self, kept: float = KEPT_SECONDS) -> None:
        """Examine again what was examined longer ago. On a thread: it waits for the disk."""
        async with self._examining:
            if monotonic() - self._examined_at < kept:
                return
            self._examined = await asyncio.to_thread(self._examine)
            self._examined_at, self._at = monotonic(), self._sources.clock.now()

    def refresh_soon(self) -> None:
        """The same, without waiting for it."""
        if self._soon is None or self._soon.done():
            self._soon = asyncio.create_task(self.refresh())

    def _examine(self) -> list[Finding]:
        sources = self._sources
        found = examine_machine()
        if sources.folder is not None:
            # Not its database: a process must not open it twice.
            disk = (examine_file_system, examine_space, examine_sync)
            return [*found, *(examine(sources.folder) for examine in disk)]
        remote = stores.parse(sources.url).remote if sources.database is None else None
        return found if remote is None else [*found, *examine_endpoint(sources.url, remote, sources.clock)]

    def _all(self) -> list[Finding]:
        own = [*self._of_feeds, *self._of_partitions, *([] if self._away is None else [self._away])]
        return sorted([*own, *self._examined], key=lambda each: _WORST_FIRST.index(each.status))

    def wrong(self) -> list[FindingShown]:
        """Those that need somebody, the worst first."""
        return [_shown(each) for each in self._all() if each.status is not Status.OK]

    def store_is_away(self, error: Exception) -> None:
        text = " ".join(str(error).split())
        self._away = fail("store", f"it does not answer: {text}", "see whether it runs, and whether it can be reached")

    def of_feeds(self, feeds: Sequence[FeedShown]) -> None:
        self._away = None
        self._of_feeds = [finding for feed in feeds for finding in _of_feed(feed)]

    def of_partitions(self, hot: Sequence[tuple[str, str, float, float]]) -> None:
        """The partitions that pass what DynamoDB serves: their table, key, and read and write units a second."""
        self._of_partitions = [_of_partition(*each) for each in hot]


def _of_partition(where: str, key: str, read: float, write: float) -> Finding:
    reads = read / PARTITION_READ_UNITS >= write / PARTITION_WRITE_UNITS
    kind, rate, limit = ("read", read, PARTITION_READ_UNITS) if reads else ("write", write, PARTITION_WRITE_UNITS)
    return warn(
        f"partition {key} of {where}",
        f"it takes {rate:,.0f} {kind} units a second; DynamoDB serves {limit:,} from one partition",
        "spread it over several partition keys, for example by sk.Shards",
    )


def _of_feed(feed: FeedShown) -> list[Finding]:
    found = []
    name = f"feed {feed.name}"
    if feed.blocked is not None or (feed.lag_seconds or 0.0) >= LATE_SECONDS:
        lag = "" if feed.lag_seconds is None else f"it is {feed.lag_seconds:,.0f} s behind. "
        found.append(warn(name, f"{lag}{feed.lag_text}", "see Feeds, under Changes"))
    elif feed.unfollowed:
        found.append(warn(name, feed.lag_text, "see Feeds, under Changes"))
    if feed.dead_letters:
        number = f"{feed.dead_letters:,}{' or more' if feed.dead_letters_more else ''}"
        advice = "see why under Changes, mend the cause, and send them again"
        found.append(warn(name, f"it has given up {number} changes", advice))
    return found


def _shown(finding: Finding) -> FindingShown:
    return FindingShown(finding.subject, finding.status.value, finding.found, finding.advice)

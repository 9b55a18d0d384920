"""One region follows a table with replicas: its home.

The stream of each region has the writes of all. Two followers in two regions would handle every change twice, with
leases, marks and timers of their own, which are right in one region alone; and what they write would meet in conflicts
that the last writer wins. So a follower starts only in the region that the declaration names.
"""

from __future__ import annotations

import logging
from typing import Any, Final

from botocore.exceptions import ClientError

from sortkey.feeds.changes.change_feed import ChangeFeed
from sortkey.model.calls.steps import code_of
from sortkey.model.errors import WrongRegion
from sortkey.model.items.table import Table
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.tables.provision import region_of

_logger: Final = logging.getLogger(__name__)


async def require_home(session: AsyncSession, feed: str, table: Table, default: str | None) -> None:
    """Raises WrongRegion if the table has replicas, and this is not the region that follows it. `default` is the home
    of a table that declares none."""
    try:
        description = (await session.client.describe_table(TableName=table.name))["Table"]
    except ClientError as error:
        if code_of(error) == "ResourceNotFoundException":
            return  # The feed says so when it starts.
        raise
    replicas = [each["RegionName"] for each in description.get("Replicas", ())]
    if not replicas:
        return
    here, home = region_of(description), table.settings.home or default
    if home == here:
        return
    if home is None:
        raise WrongRegion(
            f"{feed}: table {table.name} has replicas in {', '.join(sorted({here, *replicas}))}, and one region "
            f'has to follow it; say which one: sk.Table("{table.name}", replicas=…, home="{here}"), '
            f'sk.feeds.Follower(…, home="{here}") or sortkey follow --home {here}'
        )
    raise _elsewhere(feed, table.name, home, f"this session is in {here}")


def check_home(feed: ChangeFeed[Any], here: str) -> None:
    """The same for changes that come from the stream of a region to a Lambda function, which has no other reason to ask
    the store: by the declaration alone. Without a home there, nothing tells whether other regions have functions, too;
    the log says so."""
    table = feed.table
    if not table.settings.replicas or table.settings.home == here:
        return
    if table.settings.home is not None:
        raise _elsewhere(feed.name, table.name, table.settings.home, f"this stream is of {here}")
    _logger.warning(
        '%s: table %s has replicas, and one region has to follow it: declare sk.Table("%s", …, home="%s"), so that a '
        "function in another region is refused",
        *(feed.name, table.name, table.name, here),
    )


def _elsewhere(feed: str, table: str, home: str, found: str) -> WrongRegion:
    return WrongRegion(
        f"{feed}: table {table} is followed in its home {home}, and {found}; run the follower there, or change the "
        f"home when the one there has stopped"
    )

"""One region follows a table with replicas: its home.

The stream of each region has the writes of all. Two followers in two regions would handle every change twice, with
leases, marks and timers of their own, which are right in one region alone; and what they write would meet in conflicts
that the last writer wins. So a follower starts only in the region that the declaration names.
"""

from __future__ import annotations

from typing import Any

from botocore.exceptions import ClientError

from sortkey.feeds.changes.change_feed import ChangeFeed
from sortkey.feeds.timers.timers import Timers
from sortkey.model.calls.steps import code_of
from sortkey.model.errors import WrongRegion
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.tables.provision import region_of


async def require_home(session: AsyncSession, feed: ChangeFeed[Any] | Timers[Any], default: str | None) -> None:
    """Raises WrongRegion if the feed's table has replicas, and this is not the region that follows it. `default` is the
    home of a table that declares none."""
    table = feed.schedule.source.cls.__table__ if isinstance(feed, Timers) else feed.table
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
            f"{feed.name}: table {table.name} has replicas in {', '.join(sorted({here, *replicas}))}, and one region "
            f'has to follow it; say which one: sk.Table("{table.name}", replicas=…, home="{here}"), '
            f'sk.feeds.Follower(…, home="{here}") or sortkey follow --home {here}'
        )
    raise WrongRegion(
        f"{feed.name}: table {table.name} is followed in its home {home}, and this session is in {here}; run the "
        f"follower there, or change the home when the one there has stopped"
    )

"""A large folder is checked in the background after it was opened; meanwhile reads are slower. So benchmarks wait."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Final

import sortkey as sk

LOOK_SECONDS: Final = 0.5
IDLE_SECONDS: Final = 0.05


async def wait_until_checked(session: sk.AsyncSession) -> None:
    """Until this process has checked the folder."""
    database = session.client.database
    while database is not None and not database.store._is_checked:
        await asyncio.sleep(LOOK_SECONDS)


def wait_until_idle(pid: int) -> None:
    """Until a server has checked its folder, and has nothing to do."""
    before = -1.0
    while (used := processor_seconds(pid)) - before > IDLE_SECONDS:
        before = used
        time.sleep(LOOK_SECONDS)  # a process that is idle says nothing


def processor_seconds(pid: int) -> float:
    """What a process has used. 0 where there is no /proc."""
    # The name, in brackets, may contain spaces; user and system time are the 12th and 13th field after it.
    stat = Path(f"/proc/{pid}/stat")
    if not stat.exists():
        return 0.0
    fields = stat.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

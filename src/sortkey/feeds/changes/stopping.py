"""Pauses that end when their work is to stop."""

from __future__ import annotations

import asyncio


async def stopped_within(stopping: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await stopping.wait()
    except TimeoutError:
        return False
    return True

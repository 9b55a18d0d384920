"""Runs the visitors of the services' demonstrations beside the server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError

from sortkey.model.errors import ModelError
from sortkey.services.interface import Service

PAUSE_SECONDS: Final = 5.0
"""After an error of the store."""

_logger = logging.getLogger(__name__)


@asynccontextmanager
async def demo_visitors(services: Sequence[Service]) -> AsyncIterator[None]:
    """Lets the visitors in, and sends them away at the end."""
    visits = [asyncio.create_task(_visit(service)) for service in services]
    try:
        yield
    finally:
        for visit in visits:
            visit.cancel()
        await asyncio.gather(*visits, return_exceptions=True)


async def _visit(service: Service) -> None:
    while True:
        try:
            await service.run_demo()
        except (ClientError, BotoCoreError, ModelError) as error:
            _logger.warning("the demonstration of %s pauses: %s", service.name, error)
            await asyncio.sleep(PAUSE_SECONDS)
        else:
            return

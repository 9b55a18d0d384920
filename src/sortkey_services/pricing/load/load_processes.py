"""The processes that write a file's direct rows together, and how far each of them is."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Sequence
from typing import Final

import msgspec

from sortkey_services.pricing.load.load_process import Message, Order

MOST: Final = 4
"""All of them wait for one writer."""
ROWS_OF_A_PROCESS: Final = 50_000
"""For fewer, a process takes longer to start than to write."""


class LoadFailed(Exception):
    """Not all rows are written; the message says why."""


def process_count(rows: int) -> int:
    """How many processes are worth their start."""
    return max(1, min(MOST, os.cpu_count() or 1, rows // ROWS_OF_A_PROCESS))


async def run_processes(orders: Sequence[Order]) -> AsyncIterator[tuple[int, int]]:
    """Start one for each order, and yield what they report: the number of the order, and how many rows of its part are
    written. Raises LoadFailed as soon as one fails. All of them have ended afterwards."""
    module = "sortkey_services.pricing.load.load_process"
    processes: list[asyncio.subprocess.Process] = []
    messages: asyncio.Queue[tuple[int, bytes]] = asyncio.Queue()
    readers: list[asyncio.Task[None]] = []
    try:
        for number, order in enumerate(orders):
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", module, msgspec.json.encode(order)),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                # An interrupt from the keyboard is for the command, which ends its processes.
                start_new_session=True,
            )
            processes.append(process)
            readers.append(asyncio.create_task(_read(number, process, messages)))
        running = len(processes)
        while running:
            number, line = await messages.get()
            if not line:
                running -= 1
                await _require_success(processes[number])
                continue
            message = msgspec.json.decode(line, type=Message)
            yield number, message.position
            if message.error is not None:
                raise LoadFailed(message.error)
    finally:
        for reader in readers:
            reader.cancel()
        for process in processes:
            if process.returncode is None:
                process.kill()
                await process.wait()


async def _read(number: int, process: asyncio.subprocess.Process, messages: asyncio.Queue[tuple[int, bytes]]) -> None:
    assert process.stdout is not None
    while True:
        line = await process.stdout.readline()
        messages.put_nowait((number, line))
        if not line:
            return


async def _require_success(process: asyncio.subprocess.Process) -> None:
    status = await process.wait()
    if status != 0:
        raise LoadFailed(f"a process of the load ended with status {status}")

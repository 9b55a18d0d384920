"""The processes that write a file's direct rows together, or compare the file, and how far each of them is.

To encode a row takes four times as long as to write it, and one process encodes on one processor. So each writes a part
of the rows, or compares a share of the stores: `python -m sortkey_services.pricing.load.load_processes ORDER`, where
the order is JSON. Each line of the output is a `Message`. A process whose output nobody reads ends at its next one.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from botocore.exceptions import BotoCoreError, ClientError

import sortkey as sk
from sortkey_services.pricing.load.comparison import Compared, Comparison, Share
from sortkey_services.pricing.load.file_check import RowCheck, zones_of_stores
from sortkey_services.pricing.load.price_files import PriceFile, RowMistake, UnusableFile, price_file
from sortkey_services.pricing.model import CHANGES, PRICES, PriceRow

MOST: Final = 4
"""All of them wait for one writer."""
ROWS_OF_A_PROCESS: Final = 50_000
"""For fewer, a process takes longer to start than to write."""
TURN: Final = 512
"""Rows that one process takes before the next one's turn: neighbours in the file are often neighbours in the store."""


class LoadFailed(Exception):
    """Not all rows are written; the message says why."""


class Part(NamedTuple):
    number: int
    of: int
    """How many parts there are."""
    after: int = 0
    """How many of its rows are written already."""


class LoadedFile(msgspec.Struct, frozen=True):
    url: str
    """Of the store."""
    path: str
    format: str | None
    currency: str
    time_zone: str | None
    """Of stores without one."""
    since: int


class WriteOrder(msgspec.Struct, frozen=True, tag=True):
    file: LoadedFile
    part: Part


class CompareOrder(msgspec.Struct, frozen=True, tag=True):
    file: LoadedFile
    share: Share
    kept: str
    """The file that rows which differ are written to."""
    skips_direct: bool


Order = WriteOrder | CompareOrder


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    position: int
    """How many rows of the part are written, or how much of the file is read."""
    total: int = 0
    """How much there is to read."""
    compared: Compared | None = None
    """The last message of a comparison has it."""
    error: str | None = None


def process_count(rows: int) -> int:
    """How many processes are worth their start."""
    return max(1, min(MOST, os.cpu_count() or 1, rows // ROWS_OF_A_PROCESS))


async def run_processes(orders: Sequence[Order]) -> AsyncIterator[tuple[int, Message]]:
    """Start one for each order, and yield what they report, with the number of the order. Raises LoadFailed as soon as
    one fails. All of them have ended afterwards."""
    processes: list[asyncio.subprocess.Process] = []
    messages: asyncio.Queue[tuple[int, bytes]] = asyncio.Queue()
    readers: list[asyncio.Task[None]] = []
    try:
        for number, order in enumerate(orders):
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", __name__, msgspec.json.encode(order)),
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
            yield number, message
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


def main(order: Order) -> None:
    try:
        write(order) if isinstance(order, WriteOrder) else asyncio.run(compare(order))
    except BrokenPipeError:
        # The command was killed. At its end, the interpreter would complain about the output once more.
        os._exit(1)
    except sk.LoadError as error:
        send(Message(error.position, error=str(error.__cause__ or error)))
    except (BotoCoreError, ClientError, sk.ModelError, sk.services.Conflict, UnusableFile) as error:
        send(Message(order.part.after if isinstance(order, WriteOrder) else 0, error=str(error)))


def write(order: WriteOrder) -> None:
    asked, part = order.file, order.part
    # The zones of stores were checked with the file.
    check = RowCheck(asked.currency, asked.since, lambda _: "UTC")
    rows = direct_rows(price_file(Path(asked.path), asked.format), check, part)
    with sk.connect(asked.url, tables=[PRICES]) as db:
        loaded = db.load(rows, after=part.after, progress=lambda loaded: send(Message(loaded.position)))
    send(Message(loaded.position))


async def compare(order: CompareOrder) -> None:
    asked = order.file
    file = price_file(Path(asked.path), asked.format)
    async with sk.async_connect(asked.url, tables=[PRICES, CHANGES]) as session:
        check = RowCheck(asked.currency, asked.since, await zones_of_stores(session, asked.time_zone))
        comparison = Comparison(session, file, check, order.share, skips_direct=order.skips_direct)
        compared = await comparison.run(Path(order.kept), lambda done, total: send(Message(done, total)))
    send(Message(0, compared=compared))


def send(message: Message) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(message) + b"\n")
    sys.stdout.buffer.flush()


def direct_rows(file: PriceFile, check: RowCheck, part: Part) -> Iterator[PriceRow]:
    """All direct rows of the part. Raises UnusableFile for a row that was right when the file was checked."""
    turn, turns = part.number * TURN, part.of * TURN
    index = 0
    for each in file.read(lambda _done, _total: None):
        direct = None if isinstance(each, RowMistake) else check.direct(each[1])
        if direct is None:
            if isinstance(each, RowMistake) or check.mistakes(each[1]):
                raise UnusableFile(f"the file was changed while it was loaded: {file.place(each[0])} is wrong now")
            continue
        if turn <= index % turns < turn + TURN:
            store, channel, kind, product, cents, since = direct
            yield PriceRow(store=store, channel=channel, kind=kind, product=product, cents=cents, since=since)
        index += 1


if __name__ == "__main__":
    main(msgspec.json.decode(sys.argv[1], type=WriteOrder | CompareOrder))

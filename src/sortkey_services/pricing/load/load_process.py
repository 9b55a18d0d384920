"""A process that writes a part of a file's direct rows: `python -m sortkey_services.pricing.load.load_process ORDER`.

To encode a row takes four times as long as to write it, and one process encodes on one processor. The order is JSON;
each line of the output is a `Message`. A process whose output nobody reads ends at its next commit.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from botocore.exceptions import BotoCoreError, ClientError

import sortkey as sk
from sortkey_services.pricing.load.file_check import RowCheck
from sortkey_services.pricing.load.price_files import PriceFile, RowMistake, UnusableFile, price_file
from sortkey_services.pricing.model import PRICES, PriceRow

TURN: Final = 512
"""Rows that one process takes before the next one's turn: neighbours in the file are often neighbours in the store."""


class Part(NamedTuple):
    number: int
    of: int
    """How many parts there are."""
    after: int = 0
    """How many of its rows are written already."""


class Order(msgspec.Struct, frozen=True):
    store: str
    path: str
    format: str | None
    currency: str
    since: int
    part: Part


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    position: int
    """How many rows of the part are written."""
    error: str | None = None


def main(order: Order) -> None:
    try:
        file = price_file(Path(order.path), order.format)
        rows = direct_rows(file, RowCheck(order.currency, order.since), order.part)
        with sk.connect(order.store, tables=[PRICES]) as db:
            loaded = db.load(rows, after=order.part.after, progress=lambda loaded: send(Message(loaded.position)))
        send(Message(loaded.position))
    except BrokenPipeError:
        # The command was killed. At its end, the interpreter would complain about the output once more.
        os._exit(1)
    except sk.LoadError as error:
        send(Message(error.position, str(error.__cause__ or error)))
    except (BotoCoreError, ClientError, sk.ModelError, UnusableFile) as error:
        send(Message(order.part.after, str(error)))


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
                raise UnusableFile(f"the file was changed while it was loaded: {file.row_name} {each[0]} is wrong now")
            continue
        if turn <= index % turns < turn + TURN:
            store, channel, kind, product, cents, since = direct
            yield PriceRow(store=store, channel=channel, kind=kind, product=product, cents=cents, since=since)
        index += 1


if __name__ == "__main__":
    main(msgspec.json.decode(sys.argv[1], type=Order))

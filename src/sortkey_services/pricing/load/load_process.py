"""A process that writes a part of a file's direct rows: `python -m sortkey_services.pricing.load.load_process ORDER`.

To encode a row takes four times as long as to write it, and one process encodes on one processor. The order is JSON;
each line of the output is a `Message`. A process whose output nobody reads ends at its next commit.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec
from botocore.exceptions import BotoCoreError, ClientError

import sortkey as sk
from sortkey_services.pricing.load.checked_rows import RowCheck
from sortkey_services.pricing.load.direct_rows import Part, direct_rows
from sortkey_services.pricing.load.price_files import price_file
from sortkey_services.pricing.load.raw_rows import UnusableFile
from sortkey_services.pricing.model import PRICES


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


if __name__ == "__main__":
    main(msgspec.json.decode(sys.argv[1], type=Order))

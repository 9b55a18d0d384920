"""Prices in JSON lines: one object a line, with the members of a change. Empty lines are skipped."""

from __future__ import annotations

from codecs import BOM_UTF8
from decimal import Decimal
from pathlib import Path
from typing import Final

import msgspec

from sortkey_services.pricing.load.raw_rows import Mistake, RawRow, Read, ShowRead

SHOWN_EVERY: Final = 4096
MOST_DIGITS: Final = 20
"""More than any amount has."""


class Line(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    store: str
    product: str
    channel: str | None = None
    kind: str | None = None
    action: str | None = None
    amount: Decimal | None = None
    currency: str | None = None
    effective_at: str | None = None


class JsonLinesFile:
    row_name = "line"

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, show: ShowRead) -> Read:
        total, done = self._path.stat().st_size, 0
        decode = msgspec.json.Decoder(Line).decode
        with self._path.open("rb") as file:
            for number, text in enumerate(file, start=1):
                done += len(text)
                if number % SHOWN_EVERY == 0:
                    show(done, total)
                if number == 1:
                    text = text.removeprefix(BOM_UTF8)
                if not text or text.isspace():
                    continue
                try:
                    line = decode(text)
                except msgspec.ValidationError as error:
                    yield Mistake(number, str(error))
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    yield Mistake(number, f"is not JSON: {error}")
                else:
                    yield number, _raw(line)


def _raw(line: Line) -> RawRow:
    amount = line.amount
    text = None if amount is None else str(amount)
    if amount is not None and "E" in str(text) and abs(amount.adjusted()) < MOST_DIGITS:
        # JSON may say 1e2. The digits of 1e999999999 would fill the memory.
        text = f"{amount:f}"
    return (
        *(line.store, line.product, line.channel, line.kind, line.action),
        text,
        line.currency,
        line.effective_at,
    )

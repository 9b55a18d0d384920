"""Prices in JSON lines: one object a line, with the members of a change. Empty lines are skipped."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Final

import msgspec

from sortkey.services.pricing.load.raw_rows import Mistake, Read, ShowRead

SHOWN_EVERY: Final = 4096


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
                if text.isspace():
                    continue
                try:
                    line = decode(text)
                except msgspec.ValidationError as error:
                    yield Mistake(number, str(error))
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    yield Mistake(number, f"is not JSON: {error}")
                else:
                    yield number, msgspec.structs.astuple(line)

"""Bytes and seconds as people read them."""

from __future__ import annotations

from typing import Final

_BYTES: Final = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def bytes_text(number: float) -> str:
    for size, unit in _BYTES:
        if number >= size:
            return f"{number / size:.3g} {unit}" if number < 999 * size else f"{number / size:,.0f} {unit}"
    return f"{number:.0f} bytes"


def seconds_text(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:,.1f} s"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} µs"

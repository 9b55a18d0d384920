"""Files of prices, as programs write them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def csv_file(path: Path, *rows: str, columns: str = "store,product,amount") -> Path:
    path.write_text("\n".join((columns, *rows)) + "\n", encoding="utf-8")
    return path


def priced(stores: int, products: int) -> Iterable[str]:
    for store in range(stores):
        for product in range(products):
            yield f"{store:05},P{product:04},{(7 * store + product) % 90 + 1}.50"

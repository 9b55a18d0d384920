"""What a search of a vector index costs. It is paid by the bytes that it examines, not in capacity units.

How many it examines is known only to the store. The estimate is what measurements of DynamoDB show: a number of bytes
for each dimension, and what is returned; at least a kilobyte.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import orjson

from sortkey.limits import KIB
from sortkey.model.costs.explain import GUESSED_BYTES
from sortkey.model.items.vector_index import VectorPath

BYTES_A_DIMENSION: Final = 17.6
DOLLARS_PER_GIGABYTE: Final = 0.002
"""AWS's list price in us-east-1, since August 2026."""
RESULTS: Final = 10
_GIGABYTE: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class VectorExplanation:
    """The request of a search, without the vector, and its expected cost. Printed, it is a text."""

    path: str
    request: dict[str, Any]
    index: str
    dimensions: int
    examined: float
    """The estimated bytes."""

    operation = "SearchVectors"

    @property
    def dollars_per_million(self) -> float:
        """The price of a million such calls, in us-east-1."""
        return self.examined * 1_000_000 / _GIGABYTE * DOLLARS_PER_GIGABYTE

    def __str__(self) -> str:
        request = orjson.dumps(self.request, default=repr, option=orjson.OPT_INDENT_2).decode()
        return (
            f"{self.path}\nSearchVectors {request}\n"
            f"index     {self.index}: {self.dimensions:,} dimensions\n"
            f"examined  about {self.examined:,.0f} bytes\n"
            f"cost      about ${self.dollars_per_million:,.2f} a million (list price, us-east-1)"
        )


def explain_search(path: VectorPath[Any], rows: int | None, row_bytes: int | None) -> VectorExplanation:
    k = RESULTS if rows is None else rows
    returned = k * (GUESSED_BYTES if row_bytes is None else row_bytes)
    examined = max(float(KIB), BYTES_A_DIMENSION * path.layout.dimensions + returned)
    return VectorExplanation(repr(path), path.search(k), path.layout.index, path.layout.dimensions, examined)

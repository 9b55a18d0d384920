"""The score of a vector: how similar it is to the one that is searched for.

    COSINE        1 - cosine of the angle, from 0 (same direction) to 2 (opposite); 1 if a vector is zero
    EUCLIDEAN     the distance
    DOT_PRODUCT   the product; here alone the highest score is the best

The components are 32-bit floating point numbers. Sums are taken in 64 bits, and a score beyond 32 bits is the largest
one, as on AWS.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from operator import mul
from struct import iter_unpack
from typing import Final, NamedTuple

from sortkey.engine.tables.vector_index import LARGEST
from sortkey.values.attribute import AttributeValue

COSINE: Final = "COSINE"
EUCLIDEAN: Final = "EUCLIDEAN"
DOT_PRODUCT: Final = "DOT_PRODUCT"


class Scope(NamedTuple):
    """Which rows a search is about."""

    partition: bytes
    filters: Mapping[str, AttributeValue]
    """The values that inline filters must have."""


def components(vector: bytes) -> list[float]:
    """Those of a stored vector."""
    return [value for (value,) in iter_unpack("<f", vector)]


def score(function: str, wanted: Sequence[float], vector: Sequence[float]) -> float:
    if function == EUCLIDEAN:
        return bounded(sqrt(sum((a - b) ** 2 for a, b in zip(wanted, vector, strict=True))))
    product = sum(map(mul, wanted, vector))
    if function == DOT_PRODUCT:
        return bounded(product)
    lengths = sqrt(sum(map(mul, wanted, wanted))) * sqrt(sum(map(mul, vector, vector)))
    if not lengths:
        return 1.0
    return 0.0 if wanted == vector else min(max(1.0 - product / lengths, 0.0), 2.0)


def bounded(value: float) -> float:
    return min(max(value, -LARGEST), LARGEST)


def rank(function: str, value: float) -> float:
    """Grows from the best score to the worst."""
    return -value if function == DOT_PRODUCT else value

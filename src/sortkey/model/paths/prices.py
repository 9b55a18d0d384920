"""Capacity prices: AWS's list prices for on-demand tables in us-east-1 (N. Virginia), standard class, in US dollars
without tax, since 1 November 2024, when they were halved. Other regions cost up to twice as much.

The source is https://aws.amazon.com/dynamodb/pricing/on-demand/, where the prices depend on the selected region. In
November 2026 they were compared with quotes on several public pages of 2025 and 2026, which agreed, except that one
page still had the old price of a read.
"""

from __future__ import annotations

from typing import Final

AS_OF: Final = "2024-11-01"
REGION: Final = "us-east-1"
DOLLARS_PER_MILLION_READ_UNITS: Final = 0.125
DOLLARS_PER_MILLION_WRITE_UNITS: Final = 0.625


def read_dollars_per_million(units: float) -> float:
    """The price of a million requests with this many read units each."""
    return units * DOLLARS_PER_MILLION_READ_UNITS


def write_dollars_per_million(units: float) -> float:
    return units * DOLLARS_PER_MILLION_WRITE_UNITS

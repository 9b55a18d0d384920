"""What capacity costs: Amazon's list prices of on-demand tables in us-east-1 (N. Virginia), standard class, in US
dollars without tax, as they hold since 1 November 2024, when they were halved. Other regions cost up to twice as much.

The source is https://aws.amazon.com/dynamodb/pricing/on-demand/, whose amounts depend on the region chosen there. They
were compared in November 2026 with what several public pages of 2025 and 2026 quote of it: the same, but for one page
that still had the price of a read from before.
"""

from __future__ import annotations

from typing import Final

AS_OF: Final = "2024-11-01"
REGION: Final = "us-east-1"
DOLLARS_PER_MILLION_READ_UNITS: Final = 0.125
DOLLARS_PER_MILLION_WRITE_UNITS: Final = 0.625


def read_dollars_per_million(units: float) -> float:
    """A million requests of so many read units each."""
    return units * DOLLARS_PER_MILLION_READ_UNITS


def write_dollars_per_million(units: float) -> float:
    return units * DOLLARS_PER_MILLION_WRITE_UNITS

"""What a scan will cost: from the table's number of items and size, as DescribeTable reports them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from sortkey.model.calls.create_tables import require_description
from sortkey.model.calls.steps import Context, Steps
from sortkey.model.maintenance.scan_source import ScanSource
from sortkey.model.paths import prices
from sortkey.values.capacity_units import read_units


@dataclass(frozen=True, slots=True)
class ScanEstimate:
    """The expected cost of one scan. A filter does not make it cheaper, and segments do not make it dearer."""

    scanned: str
    request: dict[str, Any]
    rows: int
    """The rows of the table or the index, of every class; DynamoDB counts them about every six hours."""
    table_bytes: int
    units: float

    @property
    def dollars(self) -> float:
        """The price of the scan: on demand, in us-east-1."""
        return prices.read_dollars_per_million(self.units) / 1_000_000

    def __str__(self) -> str:
        request = orjson.dumps(self.request, default=repr, option=orjson.OPT_INDENT_2).decode()
        return "\n".join(
            [
                f"scan of {self.scanned}",
                f"Scan {request}",
                f"rows      {self.rows:,}, together {self.table_bytes:,} bytes (as of DescribeTable: up to six hours "
                f"old on DynamoDB)",
                f"capacity  {self.units:,g} read units",
                f"cost      ${self.dollars:,.6f} (list price, {prices.REGION}, since {prices.AS_OF})",
            ]
        )


def estimate(context: Context, source: ScanSource[Any]) -> Steps[ScanEstimate]:
    description = yield from require_description(context, source.schema.table)
    rows, size = description["ItemCount"], description["TableSizeBytes"]
    if source.index is not None:
        indexes = [*description.get("GlobalSecondaryIndexes", []), *description.get("LocalSecondaryIndexes", [])]
        (index,) = (each for each in indexes if each["IndexName"] == source.index.index)
        rows, size = index["ItemCount"], index["IndexSizeBytes"]
    units = read_units(size, "ConsistentRead" in source.request)
    return ScanEstimate(source.scanned, source.request, rows, size, units)

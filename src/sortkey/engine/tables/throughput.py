"""Billing mode and provisioned throughput: validated, kept and shown, but not enforced."""

from __future__ import annotations

from typing import Final

from sortkey.engine.requests.tables import ProvisionedThroughput
from sortkey.engine.tables.catalog_entries import ThroughputEntry
from sortkey.engine.tables.key_schema import INVALID
from sortkey.errors import ValidationException

ON_DEMAND: Final = "PAY_PER_REQUEST"
PROVISIONED: Final = "PROVISIONED"

MOST_UNITS: Final = 1_000_000_000_000
SECONDS_PER_DAY: Final = 24 * 3600


def read_table_throughput(requested: ProvisionedThroughput | None, billing_mode: str) -> ThroughputEntry:
    """A table's throughput: required in provisioned mode, rejected in on-demand mode."""
    if billing_mode == ON_DEMAND:
        if requested is not None:
            raise ValidationException(
                f"{INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified "
                "when BillingMode is PAY_PER_REQUEST"
            )
        return ThroughputEntry()
    if requested is None:
        raise ValidationException(
            f"{INVALID}ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"
        )
    return read_units(requested)


def read_units(requested: ProvisionedThroughput, index: str | None = None) -> ThroughputEntry:
    entry = ThroughputEntry(requested.read_capacity_units, requested.write_capacity_units)
    for name, units in (("ReadCapacityUnits", entry.read), ("WriteCapacityUnits", entry.write)):
        if units > MOST_UNITS:
            where = "" if index is None else f" for index {index}"
            raise ValidationException(f"Given value {units} for {name} is out of bounds{where}")
    return entry


def change_throughput(
    current: ThroughputEntry, requested: ThroughputEntry, now: float, index: str | None = None
) -> ThroughputEntry:
    """The requested throughput with its history, which the description shows; it must differ from the current one."""
    if (requested.read, requested.write) == (current.read, current.write):
        raise ValidationException(_unchanged(current, requested, index))
    decreases = requested.read < current.read or requested.write < current.write
    increases = requested.read > current.read or requested.write > current.write
    return ThroughputEntry(
        requested.read,
        requested.write,
        increased=now if increases else current.increased,
        decreased=now if decreases else current.decreased,
        decreases_today=decreases_today(current, now) + decreases,
    )


def decreases_today(entry: ThroughputEntry, now: float) -> int:
    """DynamoDB counts decreases per UTC day."""
    if entry.decreased is None or entry.decreased // SECONDS_PER_DAY != now // SECONDS_PER_DAY:
        return 0
    return entry.decreases_today


def _unchanged(current: ThroughputEntry, requested: ThroughputEntry, index: str | None) -> str:
    resource = "table" if index is None else "index"
    what = "table" if index is None else f"index {index}"
    return (
        f"The provisioned throughput for the {what} will not change. The requested value equals the current value. "
        f"Current ReadCapacityUnits provisioned for the {resource}: {current.read}. "
        f"Requested ReadCapacityUnits: {requested.read}. "
        f"Current WriteCapacityUnits provisioned for the {resource}: {current.write}. "
        f"Requested WriteCapacityUnits: {requested.write}. "
        "Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
    )

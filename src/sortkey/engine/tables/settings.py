"""Settings that have no effect here: they are validated, kept in the catalog entry and shown again.

They are the billing mode and the throughput (nothing is throttled or warmed), and SSESpecification (nothing is
encrypted). Members that need a feature that is not supported are rejected.
"""

from __future__ import annotations

from typing import Any, Final

from sortkey.engine.requests.shapes import INVALID, Shape, member_name
from sortkey.engine.requests.tables import (
    CreateTable,
    GlobalSecondaryIndex,
    OnDemandThroughput,
    ProvisionedThroughput,
    SSESpecification,
    UpdateGlobalSecondaryIndexAction,
    UpdateTable,
    WarmThroughput,
)
from sortkey.engine.rows.catalog_entries import ThroughputEntry
from sortkey.engine.tables.core import Core
from sortkey.errors import ValidationException

ON_DEMAND: Final = "PAY_PER_REQUEST"
PROVISIONED: Final = "PROVISIONED"

MOST_UNITS: Final = 1_000_000_000_000
SECONDS_PER_DAY: Final = 24 * 3600

Settings = dict[str, Any]

ON_DEMAND_MAXIMUM: Final = "OnDemandThroughput"
WARM: Final = "WarmThroughput"
ENCRYPTION: Final = "SSEDescription"

WARM_ON_DEMAND: Final = (12_000, 4_000)
"""Read and write units per second of every new on-demand table."""
NO_MAXIMUM: Final = -1

OF_REPLICAS: Final = (
    "global_table_source_arn",
    "global_table_settings_replication_mode",
    "global_table_witness_updates",
    "disassociation_protection_enabled",
)


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


def reject_unsupported(request: CreateTable | UpdateTable) -> None:
    consistency = getattr(request, "multi_region_consistency", None)
    if consistency == "STRONG":
        raise ValidationException(
            f"{INVALID}MultiRegionConsistency is not supported here but for EVENTUAL: regions follow each other"
        )
    if consistency is not None and getattr(request, "replica_updates", None) is None:
        raise ValidationException(f"{INVALID}MultiRegionConsistency is chosen with ReplicaUpdates")
    for field in OF_REPLICAS:
        if getattr(request, field, None) is not None:
            raise ValidationException(f"{INVALID}{member_name(field)} is not supported here")


def table_settings(
    core: Core,
    request: CreateTable | UpdateTable,
    billing_mode: str,
    throughput: ThroughputEntry,
    current: Settings | None = None,
) -> Settings:
    """The settings after the request, starting from the current ones."""
    settings = _capacities("table", request, billing_mode, throughput, current or {})
    if request.sse_specification is not None:
        settings.pop(ENCRYPTION, None)
        settings |= _encryption(core, request.sse_specification)
    return settings


def index_settings(
    index: GlobalSecondaryIndex | UpdateGlobalSecondaryIndexAction,
    billing_mode: str,
    throughput: ThroughputEntry,
    current: Settings | None = None,
) -> Settings:
    return _capacities(f"index {index.index_name}", index, billing_mode, throughput, current or {})


def without_maximum(settings: Settings) -> Settings:
    """The settings that remain when a table leaves on-demand mode."""
    return {name: value for name, value in settings.items() if name != ON_DEMAND_MAXIMUM}


def without_removed(settings: Settings) -> Settings:
    """Without what removes a maximum, which only the answer to the change shows."""
    maximum = settings.get(ON_DEMAND_MAXIMUM, {})
    if NO_MAXIMUM not in maximum.values():
        return settings
    left = {name: most for name, most in maximum.items() if most != NO_MAXIMUM}
    return without_maximum(settings) | ({ON_DEMAND_MAXIMUM: left} if left else {})


def warm_units(settings: Settings, billing_mode: str, throughput: ThroughputEntry) -> tuple[int, int]:
    """Read and write units per second that the description shows as warm."""
    least = WARM_ON_DEMAND if billing_mode == ON_DEMAND else (throughput.read, throughput.write)
    asked = settings.get(WARM, least)
    return max(least[0], asked[0]), max(least[1], asked[1])


def _capacities(
    what: str, request: Shape, billing_mode: str, throughput: ThroughputEntry, current: Settings
) -> Settings:
    settings = dict(current)
    maximum: OnDemandThroughput | None = getattr(request, "on_demand_throughput", None)
    if maximum is not None and (asked := _given_units(maximum)):
        changes = isinstance(request, UpdateTable | UpdateGlobalSecondaryIndexAction)
        _check_maximum(what, asked, billing_mode, changes)
        settings[ON_DEMAND_MAXIMUM] = current.get(ON_DEMAND_MAXIMUM, {}) | asked
    warm: WarmThroughput | None = getattr(request, "warm_throughput", None)
    if warm is not None:
        settings[WARM] = _raised_warm_units(what, warm, warm_units(current, billing_mode, throughput))
    return settings


def _given_units(requested: OnDemandThroughput) -> dict[str, int]:
    units = {
        "MaxReadRequestUnits": requested.max_read_request_units,
        "MaxWriteRequestUnits": requested.max_write_request_units,
    }
    return {name: most for name, most in units.items() if most is not None}


def _check_maximum(what: str, asked: dict[str, int], billing_mode: str, changes: bool) -> None:
    """Only a change can remove a maximum."""
    if billing_mode != ON_DEMAND:
        name = next(iter(asked))
        ending = "the table BillingMode is PROVISIONED" if changes else "table BillingMode is PROVISIONED."
        raise ValidationException(f"{INVALID}{name} for OnDemandThroughput cannot be specified when {ending}")
    for name, units in asked.items():
        if units < 1 and not (changes and units == NO_MAXIMUM):
            raise ValidationException(
                f"{INVALID}Requested {name} for OnDemandThroughput for {what} is outside of valid range"
            )


def _raised_warm_units(what: str, requested: WarmThroughput, current: tuple[int, int]) -> tuple[int, int]:
    read = current[0] if requested.read_units_per_second is None else requested.read_units_per_second
    write = current[1] if requested.write_units_per_second is None else requested.write_units_per_second
    for name, new, old in (("ReadUnitsPerSecond", read, current[0]), ("WriteUnitsPerSecond", write, current[1])):
        if new < old:
            raise ValidationException(
                f"{INVALID}Requested {name} for WarmThroughput for {what} is lower than current WarmThroughput, "
                "decreasing WarmThroughput is not supported"
            )
    return read, write


def _encryption(core: Core, requested: SSESpecification) -> Settings:
    """The description of encryption with a KMS key; encryption with DynamoDB's own key, the default, is not shown."""
    key = requested.kms_master_key_id
    if not requested.enabled:
        if key is not None or requested.sse_type is not None:
            raise ValidationException(f"{INVALID}SSEType and KMSMasterKeyId can only be specified when SSE is enabled")
        return {}
    if requested.sse_type == "AES256":
        raise ValidationException(f"{INVALID}SSEType AES256 is not supported, the only supported SSEType is KMS")
    name = "alias/aws/dynamodb" if key is None else key if key.startswith("alias/") else f"key/{key}"
    arn = key if key is not None and key.startswith("arn:") else _kms_arn(core, name)
    return {ENCRYPTION: {"Status": "ENABLED", "SSEType": "KMS", "KMSMasterKeyArn": arn}}


def _kms_arn(core: Core, name: str) -> str:
    return f"arn:aws:kms:{core.settings.region}:{core.settings.account}:{name}"

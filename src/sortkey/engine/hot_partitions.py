"""Which partitions are hot, by name; and a warning when one passes what DynamoDB serves.

`PartitionLoads` counts by row key, which has only the hash of the partition key. The key itself is read from any row of
the partition, for the few that are shown.
"""

from __future__ import annotations

import logging
from binascii import a2b_base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from sortkey.engine.rows.records import SPACE_BYTES
from sortkey.engine.rows.stored_item import decode
from sortkey.engine.tables.core import Core
from sortkey.engine.tables.table import Keyed, Table
from sortkey.errors import InternalServerError
from sortkey.limits import PARTITION_READ_UNITS, PARTITION_WRITE_UNITS
from sortkey.storage import DAMAGED_PAGE, Transaction, after_prefix, ascending, is_sound
from sortkey.values.attribute import Item
from sortkey.values.partition_counts import HeavyHitters, Load

WARNING_SECONDS: Final = 60.0
"""A partition is warned of once in so many seconds."""

SHOWN_CHARACTERS: Final = 100
"""Of a partition key, which can have 2,048 bytes."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HotPartition:
    """A partition's mean load of the last minute or two."""

    table: str
    index: str | None
    """None for a partition of the table itself."""
    key: str
    """The partition key, or the beginning of a long one. Its hash, `hash:` and hexadecimal digits, if the partition has
    no rows, or if it is not to be named."""
    requests_per_second: float
    read_units_per_second: float
    write_units_per_second: float


class HotPartitions:
    """Watches one database; `each_second` must be called about once a second."""

    def __init__(self, core: Core, now: float) -> None:
        self._core = core
        self._looked = now
        self._warned: dict[tuple[str, bytes], float] = {}
        """When each partition that exceeded a limit was warned of last, by kind."""

    def each_second(self, now: float) -> None:
        """Warn of partitions that have exceeded a limit since the last call, and begin a new window if it is time."""
        partitions = self._core.partitions
        # A late call must not make a second of many.
        seconds = max(1.0, now - self._looked)
        self._looked = now
        self._warned = {key: at for key, at in self._warned.items() if now - at < WARNING_SECONDS}
        self._check("read", partitions.reads, PARTITION_READ_UNITS, seconds, now)
        self._check("write", partitions.writes, PARTITION_WRITE_UNITS, seconds, now)
        partitions.turn(now)

    def _check(self, kind: str, loads: HeavyHitters[bytes], limit: int, seconds: float, now: float) -> None:
        for partition, count in loads:
            rate = count.since_mark() / seconds
            if rate > limit and (kind, partition) not in self._warned:
                self._warned[kind, partition] = now
                table, index, key = self.names([partition])[partition]
                _logger.warning(
                    "table %s%s: the partition %r takes %s %s units a second; DynamoDB serves %s from one partition "
                    "and throttles what exceeds that. Spread it over several partition keys, for example by sk.Shards",
                    table,
                    "" if index is None else f", index {index}",
                    key,
                    f"{rate:,.0f}",
                    kind,
                    f"{limit:,}",
                )

    def hottest(self, number: int, now: float, *, named: bool = True) -> list[HotPartition]:
        """The partitions with the highest load, by their share of what DynamoDB serves; with their hashes instead of
        their keys unless they are to be `named`."""
        loads = self._core.partitions.hottest(number)
        seconds = max(1.0, self._core.partitions.seconds(now))
        names = self.names([load.partition for load in loads], named)
        return [_hot_partition(load, names[load.partition], seconds) for load in loads]

    def names(self, partitions: list[bytes], named: bool = True) -> dict[bytes, tuple[str, str | None, str]]:
        """Table, index and partition key of each."""
        snapshot, tables = self._core.read_tables()
        try:
            owners = {keyed.space: (table, index, keyed) for table, index, keyed in _keyed(tables)}
            names: dict[bytes, tuple[str, str | None, str]] = {}
            for partition in partitions:
                table, index, keyed = owners.get(partition[:SPACE_BYTES], ("(deleted)", None, None))
                text = _key_of(snapshot, keyed, partition) if named and keyed is not None else None
                names[partition] = table, index, text or f"hash:{partition[SPACE_BYTES:].hex()}"
            return names
        finally:
            snapshot.abort()


def _keyed(tables: Mapping[str, Table]) -> Iterator[tuple[str, str | None, Keyed]]:
    for table in tables.values():
        yield table.name, None, table
        for index in table.indexes.values():
            yield table.name, index.name, index


def _key_of(snapshot: Transaction, keyed: Keyed, partition: bytes) -> str | None:
    """The partition key of the first row; None without a row that can be read."""
    try:
        row = next((row for _, row in ascending(snapshot, partition, after_prefix(partition))), None)
    except (*DAMAGED_PAGE, InternalServerError):
        # A read of the partition reports it.
        return None
    if row is None or not is_sound(row):
        return None
    return ",".join(_text(decode(row), name, tag) for name, tag in keyed.partitions)[:SHOWN_CHARACTERS]


def _text(item: Item, name: str, tag: str) -> str:
    text: str = item[name][tag]
    return a2b_base64(text).hex() if tag == "B" else text


def _hot_partition(load: Load[bytes], name: tuple[str, str | None, str], seconds: float) -> HotPartition:
    return HotPartition(*name, load.requests / seconds, load.read_units / seconds, load.write_units / seconds)

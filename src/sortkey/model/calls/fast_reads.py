"""The fast path of `get` and `lookup` in a store in the process: without steps, which would cost as much as the
read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from time import perf_counter
from typing import Any, Final, TypeVar

import msgspec
from botocore.exceptions import ClientError

from sortkey.client.boto3_shapes import Unparsed, to_dynamodb_json
from sortkey.client.interface import InProcessReads
from sortkey.model.calls.arguments import reject_key, reject_path
from sortkey.model.calls.item_decoder import decode_item, decode_items, decode_items_by_key
from sortkey.model.costs.meter import Meter, partition_of_key
from sortkey.model.items.access_path import AccessPath
from sortkey.model.items.key import BoundKey
from sortkey.model.keys.key_layout import Each, TextKeys
from sortkey.values.key_bytes import KeyProduct

T = TypeVar("T")
R = TypeVar("R")
S = TypeVar("S", bound=msgspec.Struct)
Keys = Sequence[Mapping[str, Any]] | Each

_PARTITION: Final = itemgetter(0)


def as_sequence(keys: Iterable[Mapping[str, Any]]) -> Keys:
    """The keys of a call, to be iterated over more than once."""
    return keys if isinstance(keys, Each) else list(keys)


class FastReads:
    def __init__(self, reads: InProcessReads, meter: Meter) -> None:
        self._reads = reads
        self._meter = meter

    def get(self, path: AccessPath[T], consistent: bool) -> T | None:
        """Raises ClientError; the general path retries if it is temporary."""
        if type(path) is not AccessPath:
            reject_path(path)
        key = path.key()
        started = perf_counter()
        stored, units = self._reads.get_unparsed(
            path.table, to_dynamodb_json(key) if path.layout.binary else key, consistent
        )
        seconds = perf_counter() - started
        if self._meter.partitions.samples():
            self._meter.partitions.read(partition_of_key(path.table, key), units)
        if stored is None:
            self._meter.add(path.name, 0, 0, units, seconds, consistent)
            return None
        self._meter.add(path.name, 1, 1, units, seconds, consistent)
        item: T | None = decode_item(path.schema, stored)
        return item

    def lookup(self, key: BoundKey[S], keys: Keys, consistent: bool) -> list[S | None] | None:
        """Handles keys of two texts; returns None for others, and the general path runs."""
        pairs = _text_keys(key, keys)
        distinct = _distinct(pairs)
        found = self._lookup(key, distinct, consistent, gaps=False)
        if found is None:
            return None
        stored, count = found
        # Rows are in the order of the keys. If there is one for each, their own keys need not be looked at.
        items = decode_items(key.schema, stored) if count == len(pairs) else None
        if items is not None:
            return [*items]
        return list(map(decode_items_by_key(key.schema, stored).get, pairs))

    def lookup_as(self, key: BoundKey[Any], keys: Keys, read: Callable[[bytes], list[R]]) -> list[R] | None:
        """Handles keys of two texts; returns None for others, and the general path runs."""
        pairs = _text_keys(key, keys)
        distinct = _distinct(pairs)
        found_rows = self._lookup(key, distinct, consistent=False, gaps=True)
        if found_rows is None:
            return None
        rows = read(found_rows[0].text)
        if len(distinct) == len(pairs):
            return rows
        found = dict(zip(distinct, rows, strict=True))
        return [found[pair] for pair in pairs]

    def _lookup(self, key: BoundKey[Any], pairs: TextKeys, consistent: bool, gaps: bool) -> tuple[Unparsed, int] | None:
        """The rows of these keys, and their number."""
        if not pairs:
            return None
        started = perf_counter()
        try:
            found = self._reads.lookup_unparsed(key.schema.table, pairs, consistent, gaps)
        except ClientError:
            # The general path retries if it is temporary, and names the field if it is about a value.
            return None
        if found is None:
            return None
        stored, count, units = found
        self._meter.add(key.name, count, count, units, perf_counter() - started, consistent)
        if self._meter.partitions.samples():
            self._count_partitions(key.schema.table, pairs, units / len(pairs))
        return stored, count

    def _count_partitions(self, table: str, pairs: TextKeys, units: float) -> None:
        if isinstance(pairs, KeyProduct):
            keys = len(pairs.sorts)
            for text in pairs.partitions:
                self._meter.partitions.read((table, None, text), units * keys, keys)
            return
        for text, keys in Counter(map(_PARTITION, pairs)).items():
            self._meter.partitions.read((table, None, text), units * keys, keys)


def _text_keys(key: BoundKey[Any], keys: Keys) -> TextKeys:
    """The keys as pairs of texts; empty if they are not."""
    if type(key) is not BoundKey:
        reject_key(key)
    return key.layout.text_keys(keys) or ()


def _distinct(pairs: TextKeys) -> TextKeys:
    return pairs if isinstance(pairs, KeyProduct) and pairs.distinct else dict.fromkeys(pairs)

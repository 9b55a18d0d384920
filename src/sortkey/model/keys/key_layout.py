"""`KeyLayout`: the attributes of a key or an index of one class, and the fields that they are computed from.

`sk.each` names many keys at once, for `lookup`. `partition_attributes` knows those of every declared table and index.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any, Final, Literal, NamedTuple

from sortkey.model.errors import KeyPartError
from sortkey.model.fields.codec import Row
from sortkey.model.fields.generated_function import generate_function
from sortkey.model.keys.key_attribute import Expression, KeyAttribute, ShardedAttribute, SortCondition
from sortkey.values.key_bytes import KeyProduct

Projection = Literal["ALL", "KEYS_ONLY"] | tuple[str, ...]
TextKeys = Collection[tuple[str, str]]
"""Keys of two strings, as pairs of partition key and sort key."""

CACHED_PARTITIONS: Final = 256
"""Per key: how many partition keys are cached."""

_DECLARED: Final[dict[tuple[str, str | None], tuple[str, ...]]] = {}
"""The partition attributes of every declared table and index."""


class Mismatch(NamedTuple):
    """Why given fields do not fit a key: fields that it also needs, and fields that it does not contain."""

    missing: tuple[str, ...]
    unused: tuple[str, ...]


class KeyLayout:
    """The primary key of a class, or one of its indexes."""

    def __init__(
        self,
        name: str,
        partitions: tuple[KeyAttribute, ...],
        sorts: tuple[KeyAttribute, ...],
        *,
        optional: Collection[str],
        index: str | None = None,
        local: bool = False,
        projection: Projection = "ALL",
    ) -> None:
        self.name = name
        """The name of the class attribute."""
        self.partitions = partitions
        self.sorts = sorts
        self.partition = partitions[0]
        """The only partition attribute, unless the key is multi-attribute."""
        self.sort = sorts[0] if sorts else None
        self.index = index
        """The index name; None for the primary key."""
        self.local = local
        self.projection = projection
        self.attributes = partitions + sorts
        self.is_multi_attribute = len(partitions) > 1 or len(sorts) > 1
        self.sharding = self.partition.sharding
        """The shards of the partition key; None if it has none."""
        self.partition_fields = tuple(field for part in partitions for field in part.held)
        self.sort_fields = tuple(field for part in sorts for field in part.held)
        self.fields = tuple(dict.fromkeys(self.partition_fields + self.sort_fields))
        """The fields that the key contains, which paths name."""
        self.sources = tuple(dict.fromkeys((*self.fields, *self.partition.fields)))
        """The fields that the key is computed from: also those that decide the shard."""
        self.unfiltered = frozenset(field for part in self.attributes if part.is_field for field in part.fields)
        """The fields that a query's filter cannot use, since they are key attributes."""
        self.sparse = frozenset(field for field in self.sources if field in optional)
        """The fields that may be None; then the item is not in the index."""
        self.lossy = frozenset(
            field for part in self.attributes if part.template is not None for field in part.template.lossy
        )
        """The fields whose values the key does not tell, as in `{email:lower}`."""
        self.binary = any(part.tag == "B" for part in self.attributes)
        self._key_from_fields: Callable[[Mapping[str, Any]], Row] = _from_given(*_row(self.attributes))
        is_pair = index is None and [part.tag for part in self.attributes] == ["S", "S"]
        self._text_keys = _text_keys(*self.attributes) if is_pair else None
        shared = set(self.partition_fields).intersection(self.sort_fields)
        is_product = is_pair and not shared and self.sharding is None
        self._text_keys_of_each = _text_keys_of_each(*self.attributes) if is_product else None
        self.key_conditions = [_key_condition_builder(self, depth) for depth in range(len(self.sort_fields) + 1)]
        """For each number of given sort-key fields, a function from the given fields to the attributes that must be
        equal and a condition on the next one. Raises KeyError for a missing field."""

    @property
    def computed(self) -> tuple[KeyAttribute, ...]:
        """The attributes that this layout adds to a row: a local index shares the partition key of the table."""
        return self.attributes[1:] if self.local else self.attributes

    def ranged(self, values: Sequence[Any]) -> tuple[KeyAttribute, Sequence[Any]]:
        """The attribute that a range after these sort-key values applies to, and the values that belong to it."""
        return (self.sorts[len(values)], ()) if self.is_multi_attribute else (self.sorts[0], values)

    def attributes_of(self, source: object) -> Row:
        """The key attributes of an item; none if a field of a sparse index is None."""
        for field in self.sparse:
            if getattr(source, field) is None:
                return {}
        return {part.name: part.value_from(source) for part in self.attributes}

    def key_from_fields(self, given: Mapping[str, Any]) -> Row:
        """The key attributes, from all fields of the key and no others. Raises KeyPartError."""
        if not isinstance(given, Mapping):
            raise TypeError(
                f"each key is a mapping with {', '.join(self.fields)}, not {type(given).__name__} {given!r}"
            )
        try:
            if len(given) == len(self.fields):
                return self._key_from_fields(given)
        except KeyError:
            pass
        raise KeyPartError(
            f"{self.name} takes exactly {', '.join(self.fields)}, not {', '.join(map(str, given)) or 'nothing'}"
        )

    def is_key_of(self, row: Row, values: Mapping[str, Any]) -> bool:
        """Whether these fields make the row's key attributes. False if one is missing or has another text: the row may
        still have the same values, in another form."""
        try:
            for name, value in self._key_from_fields(values).items():
                if row.get(name) != value:
                    return False
        except (KeyError, KeyPartError):
            return False
        return True

    def text_keys(self, wanted: Sequence[Mapping[str, Any]] | Each) -> TextKeys | None:
        """The keys as pairs of strings; None for keys of other types, or with other fields: see `key_from_fields`."""
        if self._text_keys is None:
            return None
        if isinstance(wanted, Each):
            if self._text_keys_of_each is not None and tuple(wanted.columns) == self.fields:
                return self._text_keys_of_each(wanted)
            wanted = list(wanted)
        try:
            pairs = self._text_keys(wanted)
        except (KeyError, TypeError):
            return None
        return pairs if len(pairs) == len(wanted) else None

    def parse(self, row: Row) -> dict[str, Any] | None:
        """The fields in a row's key attributes; None if they do not have this layout."""
        fields: dict[str, Any] = {}
        for part in self.attributes:
            found = part.parse(row.get(part.name, {}))
            if found is None or any(fields.get(name, value) != value for name, value in found.items()):
                return None
            fields |= found
        return fields

    def matches(self, row: Row) -> bool:
        """Whether the row's key attributes have this layout; does not decode them."""
        return all(part.matches(row.get(part.name)) for part in self.attributes)

    def is_misplaced(self, row: Row) -> bool:
        """Whether a row with a primary key of this layout is in another shard than its fields say: its fields then make
        the key of another row."""
        part = self.partition
        if not isinstance(part, ShardedAttribute):
            return False
        held = self.parse(row)
        return held is None or not part.is_placed(row[part.name]["S"], [held[field] for field in part.sharding.by])

    def mismatch(self, given: Collection[str]) -> Mismatch:
        """Why these fields do not make an access path: it needs all partition fields, and sort fields without a gap."""
        wanted = [index for index, field in enumerate(self.sort_fields) if field in given]
        needed = self.partition_fields + self.sort_fields[: max(wanted, default=-1) + 1]
        missing = tuple(dict.fromkeys(field for field in needed if field not in given))
        return Mismatch(missing, tuple(field for field in given if field not in self.fields))


def _row(parts: Sequence[KeyAttribute]) -> Expression:
    """The expression of these attributes, from the fields in `given`."""
    values = [part.expression(_given(part.fields), f"{index}") for index, part in enumerate(parts)]
    row = ", ".join(f"{part.name!r}: {value.source}" for part, value in zip(parts, values, strict=True))
    return Expression(f"{{{row}}}", {name: known for value in values for name, known in value.names.items()})


def _text_keys(partition: KeyAttribute, sort: KeyAttribute) -> Callable[[Sequence[Mapping[str, Any]]], TextKeys]:
    """A function that builds text keys; it skips keys with another number of fields."""
    # A lookup has many keys, usually of one partition.
    cached = lru_cache(CACHED_PARTITIONS, typed=True)(partition.of)
    of_sort = sort.text(_given(sort.fields), "_sort")
    pair = f"partition({', '.join(_given(partition.fields))})['S'], {of_sort.source}"
    fields = {*partition.fields, *sort.fields}
    return generate_function(
        ("wanted",),
        f"[({pair}) for given in wanted if len(given) == {len(fields)}]",
        {"partition": cached, **of_sort.names},
    )


def _text_keys_of_each(partition: KeyAttribute, sort: KeyAttribute) -> Callable[[Each], TextKeys]:
    """The same for `sk.each`, whose keys are all combinations of partition keys and sort keys."""
    partitions, sorts = _texts(partition), _texts(sort)
    fields = len(partition.fields)

    def pairs(wanted: Each) -> TextKeys:
        columns = tuple(wanted.columns.values())
        return KeyProduct(partitions(product(*columns[:fields])), sorts(product(*columns[fields:])))

    return pairs


def _texts(part: KeyAttribute) -> Callable[[Iterable[tuple[Any, ...]]], list[str]]:
    """A function from rows of field values to the attribute's strings."""
    values = [f"value{index}" for index in range(len(part.fields))]
    text = part.text(values)
    target = "".join(f"{value}, " for value in values)
    return generate_function(("rows",), f"[{text.source} for ({target}) in rows]", text.names)


def _given(fields: Sequence[str]) -> list[str]:
    return [f"given[{field!r}]" for field in fields]


def _key_condition_builder(
    layout: KeyLayout, depth: int
) -> Callable[[Mapping[str, Any]], tuple[Row, SortCondition | None]]:
    if layout.is_multi_attribute:
        equal = _row(layout.attributes[: len(layout.partitions) + depth])
        return _from_given(f"({equal.source}, None)", equal.names)
    equal, sort, given = _partition(layout, depth), layout.sort, _given(layout.sort_fields[:depth])
    if sort is None:
        return _from_given(f"({equal.source}, None)", equal.names)
    if depth < len(layout.sort_fields):
        condition = Expression(f"prefix([{', '.join(given)}])", {"prefix": sort.prefix})
    else:
        value = sort.expression(given, "_sort")
        condition = Expression(
            f"SortCondition({sort.name!r}, '=', ({value.source},))",
            {"SortCondition": SortCondition, **value.names},
        )
    return _from_given(f"({equal.source}, {condition.source})", equal.names | condition.names)


def _partition(layout: KeyLayout, depth: int) -> Expression:
    """The expression of the partition key, without its shard if the given fields do not decide that."""
    part = layout.partition
    if not isinstance(part, ShardedAttribute) or part.sharding.placed_by.issubset(
        layout.partition_fields + layout.sort_fields[:depth]
    ):
        return _row(layout.partitions)
    base = part.base(_given(part.held))
    return Expression(f"{{{part.name!r}: {base.source}}}", base.names)


def _from_given(expression: str, names: Mapping[str, Any]) -> Callable[..., Any]:
    return generate_function(("given",), expression, names)


class Each:
    """All combinations of the fields' values, each as a dict; the last field varies fastest."""

    __slots__ = ("columns",)

    def __init__(self, columns: dict[str, tuple[Any, ...]]) -> None:
        self.columns = columns

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (dict(zip(self.columns, values, strict=True)) for values in product(*self.columns.values()))

    def __len__(self) -> int:
        return prod(map(len, self.columns.values()))

    def __repr__(self) -> str:
        return f"<{len(self)} keys of {', '.join(self.columns)}>"


def each(**fields: Any) -> Each:
    """The keys of all combinations of values: a list, tuple or other collection has several values.

    >>> [*each(store="12345", product=["P1", "P2"])]
    [{'store': '12345', 'product': 'P1'}, {'store': '12345', 'product': 'P2'}]
    """
    return Each({name: _values(value) for name, value in fields.items()})


def _values(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, Iterable) and not isinstance(value, (str, bytes)) else (value,)


def declare_partition(table: str, layout: KeyLayout) -> None:
    # All classes of a table have the same key attributes, so the names of the table and the index are enough.
    _DECLARED[table, layout.index] = tuple(part.name for part in layout.partitions)


def partition_attributes(table: str, index: str | None) -> tuple[str, ...]:
    """The attributes that a request alone does not tell; empty if no class declares the table or the index."""
    return _DECLARED.get((table, index), ())

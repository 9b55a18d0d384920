"""Where a key or an index of one class keeps its values: its attributes, and what they depend on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Any, Final, Literal, NamedTuple

from sortkey.model.errors import KeyPartError
from sortkey.model.items.codec import Row
from sortkey.model.items.generated_function import generate_function
from sortkey.model.keys.each import Each
from sortkey.model.keys.key_attribute import EQUAL, Expression, KeyAttribute, SortCondition
from sortkey.values.key_product import KeyProduct

Projection = Literal["ALL", "KEYS_ONLY"] | tuple[str, ...]
TextKeys = Collection[tuple[str, str]]
"""The texts of keys that are two texts."""

PARTITIONS: Final = 256
"""Of each key, those whose texts are remembered."""


class Mismatch(NamedTuple):
    """What stands between a question and a key: fields it would also need, and fields it cannot use."""

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
        """The class's attribute that declares it."""
        self.partitions = partitions
        self.sorts = sorts
        self.partition = partitions[0]
        """The only attribute of its kind, but for an index of several."""
        self.sort = sorts[0] if sorts else None
        self.index = index
        """DynamoDB's name of the index; None for the primary key."""
        self.local = local
        self.projection = projection
        self.attributes = partitions + sorts
        self.is_multi_attribute = len(partitions) > 1 or len(sorts) > 1
        self.partition_fields = tuple(field for part in partitions for field in part.fields)
        self.sort_fields = tuple(field for part in sorts for field in part.fields)
        self.fields = tuple(dict.fromkeys(self.partition_fields + self.sort_fields))
        self.unfiltered = frozenset(field for part in self.attributes if part.is_field for field in part.fields)
        """The fields that a path asks for and a filter cannot."""
        self.sparse = frozenset(field for field in self.fields if field in optional)
        """The fields that may be None, which keeps an item out of the index."""
        self.binary = any(part.tag == "B" for part in self.attributes)
        self._key_from_fields: Callable[[Mapping[str, Any]], Row] = _from_given(*_row(self.attributes))
        is_pair = index is None and [part.tag for part in self.attributes] == ["S", "S"]
        self._text_keys = _text_keys(*self.attributes) if is_pair else None
        shared = set(self.partition_fields).intersection(self.sort_fields)
        self._text_keys_of_each = _text_keys_of_each(*self.attributes) if is_pair and not shared else None
        self.key_conditions = [_key_condition_builder(self, depth) for depth in range(len(self.sort_fields) + 1)]
        """What a query asks of the key, by how many of the sort key's fields are given, from the left: functions of the
        fields given, to attributes that have to be equal and a condition on one more. They raise KeyError for a field
        that is not given."""

    @property
    def computed(self) -> tuple[KeyAttribute, ...]:
        """The attributes that this layout adds to an item: a local index shares its partition with the key."""
        return self.attributes[1:] if self.local else self.attributes

    def ranged(self, values: Sequence[Any]) -> tuple[KeyAttribute, Sequence[Any]]:
        """The attribute that a range behind these values of the sort key is about, and those that it holds itself."""
        return (self.sorts[len(values)], ()) if self.is_multi_attribute else (self.sorts[0], values)

    def attributes_of(self, source: object) -> Row:
        """The key attributes of an item; none at all if it lacks a field of a sparse index."""
        for field in self.sparse:
            if getattr(source, field) is None:
                return {}
        return {part.name: part.value_from(source) for part in self.attributes}

    def key_from_fields(self, given: Mapping[str, Any]) -> Row:
        """The same from exactly the fields of the key."""
        if len(given) != len(self.fields):
            raise KeyPartError(f"{self.name} takes exactly {', '.join(self.fields)}")
        try:
            return self._key_from_fields(given)
        except KeyError as error:
            raise KeyPartError(f"{self.name} takes exactly {', '.join(self.fields)}; {error} is not there") from None

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
        """The fields that a row's key attributes hold, or None if this layout did not make them."""
        fields: dict[str, Any] = {}
        for part in self.attributes:
            found = part.parse(row.get(part.name, {}))
            if found is None or any(fields.get(name, value) != value for name, value in found.items()):
                return None
            fields |= found
        return fields

    def matches(self, row: Row) -> bool:
        """Whether the row's key attributes have the shape of this layout."""
        return all(part.matches(row.get(part.name)) for part in self.attributes)

    def mismatch(self, given: Collection[str]) -> Mismatch:
        """Why these fields do not make an access path: the partition must be whole, the sort key without a hole."""
        wanted = [index for index, field in enumerate(self.sort_fields) if field in given]
        needed = self.partition_fields + self.sort_fields[: max(wanted, default=-1) + 1]
        missing = tuple(dict.fromkeys(field for field in needed if field not in given))
        return Mismatch(missing, tuple(field for field in given if field not in self.fields))


def _row(parts: Sequence[KeyAttribute]) -> Expression:
    """These attributes, from the values of their fields in `given`."""
    values = [part.expression(_given(part.fields), f"{index}") for index, part in enumerate(parts)]
    row = ", ".join(f"{part.name!r}: {value.source}" for part, value in zip(parts, values, strict=True))
    return Expression(f"{{{row}}}", {name: known for value in values for name, known in value.names.items()})


def _text_keys(partition: KeyAttribute, sort: KeyAttribute) -> Callable[[Sequence[Mapping[str, Any]]], TextKeys]:
    """Those of the keys that have as many fields as they should. It raises what the others raise."""
    # Many keys are looked up at once, and mostly in one partition.
    remembered = lru_cache(PARTITIONS, typed=True)(partition.of)
    of_sort = sort.text(_given(sort.fields), "_sort")
    pair = f"partition({', '.join(_given(partition.fields))})['S'], {of_sort.source}"
    fields = {*partition.fields, *sort.fields}
    return generate_function(
        ("wanted",),
        f"[({pair}) for given in wanted if len(given) == {len(fields)}]",
        {"partition": remembered, **of_sort.names},
    )


def _text_keys_of_each(partition: KeyAttribute, sort: KeyAttribute) -> Callable[[Each], TextKeys]:
    """The same for all combinations of values, which are the combinations of both halves' texts."""
    partitions, sorts = _texts(partition), _texts(sort)
    fields = len(partition.fields)

    def pairs(wanted: Each) -> TextKeys:
        columns = tuple(wanted.columns.values())
        return KeyProduct(partitions(product(*columns[:fields])), sorts(product(*columns[fields:])))

    return pairs


def _texts(part: KeyAttribute) -> Callable[[Iterable[tuple[Any, ...]]], list[str]]:
    """From the values of an attribute's fields to its texts."""
    values = [f"value{index}" for index in range(len(part.fields))]
    text = part.text(values)
    target = "".join(f"{value}, " for value in values)
    return generate_function(("rows",), f"[{text.source} for ({target}) in rows]", text.names)


def _given(fields: Sequence[str]) -> list[str]:
    return [f"given[{field!r}]" for field in fields]


def _key_condition_builder(
    layout: KeyLayout, depth: int
) -> Callable[[Mapping[str, Any]], tuple[Row, SortCondition | None]]:
    if layout.is_multi_attribute or layout.sort is None:
        equal = _row(layout.attributes[: len(layout.partitions) + depth])
        return _from_given(f"({equal.source}, None)", equal.names)
    equal, sort, given = _row(layout.partitions), layout.sort, _given(layout.sort_fields[:depth])
    if depth < len(layout.sort_fields):
        condition = Expression(f"prefix([{', '.join(given)}])", {"prefix": sort.prefix})
    else:
        value = sort.expression(given, "_sort")
        condition = Expression(
            f"SortCondition({sort.name!r}, {EQUAL!r}, ({value.source},))",
            {"SortCondition": SortCondition, **value.names},
        )
    return _from_given(f"({equal.source}, {condition.source})", equal.names | condition.names)


def _from_given(expression: str, names: Mapping[str, Any]) -> Callable[..., Any]:
    return generate_function(("given",), expression, names)

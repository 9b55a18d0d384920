"""Many keys, written as the values of their fields: `sk.each(tenant="de", area=("BER-01", "*"), partner=partners)`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from math import prod
from typing import Any


class Each:
    """The fields of all combinations of values, one mapping for each; the last field varies fastest."""

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
    """Keys for `lookup` that differ in some of their fields: those given as lists, tuples or other collections.

    >>> [*each(store="12345", product=["P1", "P2"])]
    [{'store': '12345', 'product': 'P1'}, {'store': '12345', 'product': 'P2'}]
    """
    return Each({name: _values(value) for name, value in fields.items()})


def _values(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, Iterable) and not isinstance(value, (str, bytes)) else (value,)

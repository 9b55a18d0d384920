"""Many keys for `lookup`, by field values: `sk.each(tenant="de", area=("BER-01", "*"), partner=partners)`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from math import prod
from typing import Any


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

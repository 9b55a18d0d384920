"""An expression as frozen data that depends only on its text.

Names and values are kept as written: `#x` and `:v` are placeholders until a request's `Bindings` resolve them. So one
tree serves all requests with the same text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Comparator = Literal["=", "<>", "<", "<=", ">", ">="]


@dataclass(frozen=True, slots=True)
class Path:
    """A document path: names (or `#placeholders`) and list indexes; the first part is always a name."""

    parts: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Value:
    """A `:placeholder`."""

    placeholder: str


@dataclass(frozen=True, slots=True)
class Call:
    """A function of operands: a condition (`contains`) or itself an operand (`size`)."""

    function: str
    arguments: tuple[Operand, ...]


Operand = Path | Value | Call


@dataclass(frozen=True, slots=True)
class Comparison:
    operator: Comparator
    left: Operand
    right: Operand

    @property
    def operands(self) -> tuple[Operand, ...]:
        return self.left, self.right


@dataclass(frozen=True, slots=True)
class Between:
    operand: Operand
    low: Operand
    high: Operand

    @property
    def operands(self) -> tuple[Operand, ...]:
        return self.operand, self.low, self.high


@dataclass(frozen=True, slots=True)
class Membership:
    operand: Operand
    choices: tuple[Operand, ...]

    @property
    def operands(self) -> tuple[Operand, ...]:
        return self.operand, *self.choices


Predicate = Comparison | Between | Membership | Call


@dataclass(frozen=True, slots=True)
class Not:
    condition: Condition


@dataclass(frozen=True, slots=True)
class Junction:
    """Two or more conditions at one level; `a AND b AND c` is one junction, not two."""

    operator: Literal["AND", "OR"]
    conditions: tuple[Condition, ...]


Condition = Predicate | Not | Junction


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Its operands are arithmetic themselves only in PartiQL."""

    operator: Literal["+", "-"]
    left: Operand | Arithmetic
    right: Operand | Arithmetic


@dataclass(frozen=True, slots=True)
class Set:
    path: Path
    value: Operand | Arithmetic


@dataclass(frozen=True, slots=True)
class Remove:
    path: Path


@dataclass(frozen=True, slots=True)
class Add:
    path: Path
    value: Value


@dataclass(frozen=True, slots=True)
class Delete:
    path: Path
    value: Value


Action = Set | Remove | Add | Delete

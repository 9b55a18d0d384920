"""`sk.F`: a field that type checkers know, for conditions and changes.

    stock = sk.F(Product.stock)
    db.update(product.key, [stock.add(-1)], where=stock >= 1)

To a type checker, `Product.stock` is an int, so `sk.F(Product.stock)` is an `F[int]`: it rejects a misspelt field, and
a value of another type. At run time, `Product.stock` is a member of the class, which knows its name.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, Protocol, TypeVar, overload

from sortkey.model.changes import conditions
from sortkey.model.changes.combination import NOT_A_BOOL, Combination
from sortkey.model.changes.condition import Condition
from sortkey.model.changes.field_comparison import FieldValue
from sortkey.model.changes.operators import Operator, add, append, discard, initially
from sortkey.model.changes.places import Fields, Step, find_place, place_of
from sortkey.model.errors import DeclarationError, NoAccessPath, UnknownField
from sortkey.model.fields.codec import codec_of

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
V = TypeVar("V")


class OfType(Protocol[T_co]):
    """A field that has this type, or one within it: F[int] is an OfType[int | None]."""

    def _type(self) -> T_co: ...


class FieldChange(Mapping[str, Any]):
    """The change of one field: a mapping with one entry, for `update` alone or in a list."""

    def __init__(self, name: str, change: Any) -> None:
        self._name = name
        self._change = change

    def __getitem__(self, name: str) -> Any:
        if name != self._name:
            raise KeyError(name)
        return self._change

    def __iter__(self) -> Iterator[str]:
        yield self._name

    def __len__(self) -> int:
        return 1

    def __repr__(self) -> str:
        return f"{{{self._name}: {self._change!r}}}"


class F(Generic[T]):
    """A field of a class, or a place inside it: `sk.F(Product.stock)`, `sk.F(Order.lines)[0].at(Line.quantity)`.

    Comparisons make conditions for `where=`, to be joined by `&`, `|` and `~`. Methods make changes for `update`."""

    __slots__ = ("name", "owner")

    __hash__: ClassVar[None]  # type: ignore[assignment]
    # Indexing by number would make it iterable, without an end.
    __iter__: ClassVar[None] = None
    __contains__: ClassVar[None] = None

    def __init__(self, field: T) -> None:
        member = _member(field)
        self.owner: type = member.__objclass__
        """The class that declares the field."""
        self.name = place_of(self.owner, member.__name__, ())
        """The name of the field or the place, as the keys of mappings in `where=` and changes have it."""

    if TYPE_CHECKING:

        def _type(self) -> T: ...

    def __repr__(self) -> str:
        return f"F({self.owner.__name__}.{self.name})"

    def __bool__(self) -> NoReturn:
        raise TypeError(NOT_A_BOOL)

    # Places inside the field.

    def at(self, field: V) -> F[V]:
        """A field of the nested item: `sk.F(Order.address).at(Address.city)`."""
        member = _member(field)
        _, steps = self.name.parsed
        base = self._annotation.base
        if not (isinstance(base, type) and issubclass(base, member.__objclass__)):
            inner = f"{member.__objclass__.__name__}.{member.__name__}"
            raise UnknownField(f"{self!r} is {getattr(base, '__name__', base)}, so it has no {inner}")
        return self._inside(*steps, member.__name__)

    @overload
    def __getitem__(self: F[list[V]], step: int) -> F[V]: ...
    @overload
    def __getitem__(self: F[list[V] | None], step: int) -> F[V]: ...
    @overload
    def __getitem__(self: F[tuple[V, ...]], step: int) -> F[V]: ...
    @overload
    def __getitem__(self: F[tuple[V, ...] | None], step: int) -> F[V]: ...
    @overload
    def __getitem__(self: F[dict[str, V]], step: str) -> F[V]: ...
    @overload
    def __getitem__(self: F[dict[str, V] | None], step: str) -> F[V]: ...

    def __getitem__(self, step: Step) -> F[Any]:
        """An element of a list or a tuple, or the value of a key of a dict."""
        _, steps = self.name.parsed
        return self._inside(*steps, step)

    def _inside(self, *steps: Step) -> F[Any]:
        field, _ = self.name.parsed
        find_place(self._fields, field, steps)
        made: F[Any] = object.__new__(F)
        made.owner = self.owner
        made.name = place_of(self.owner, field, steps)
        return made

    @property
    def _fields(self) -> Any:
        return Fields(self.owner.__name__, codec_of(self.owner))

    @property
    def _annotation(self) -> Any:
        field, steps = self.name.parsed
        found = find_place(self._fields, field, steps)
        return found.fields.codec.by_name[found.name].annotation

    # Conditions.

    def __eq__(self, other: T | OfType[T | None]) -> Combination:  # type: ignore[override]
        return self._where(conditions.condition_of(_operand(other)))

    def __ne__(self, other: T | OfType[T | None]) -> Combination:  # type: ignore[override]
        return self._where(conditions.present if other is None else conditions.other_than(_operand(other)))

    def __lt__(self, other: T | OfType[T | None]) -> Combination:
        return self._where(conditions.below(_operand(other)))

    def __le__(self, other: T | OfType[T | None]) -> Combination:
        return self._where(conditions.at_most(_operand(other)))

    def __gt__(self, other: T | OfType[T | None]) -> Combination:
        return self._where(conditions.above(_operand(other)))

    def __ge__(self, other: T | OfType[T | None]) -> Combination:
        return self._where(conditions.at_least(_operand(other)))

    def between(self, low: T, high: T) -> Combination:
        """From `low` to `high`, both included."""
        return self._where(conditions.at_least(low) & conditions.at_most(high))

    def one_of(self, *values: T) -> Combination:
        """Equal to one of the values, of which there are 1 to 100."""
        return self._where(conditions.one_of(*values))

    @property
    def absent(self) -> Combination:
        """None, or an empty set."""
        return self._where(conditions.absent)

    @property
    def present(self) -> Combination:
        """Neither None nor an empty set."""
        return self._where(conditions.present)

    @overload
    def starting(self: F[str] | F[str | None], beginning: str) -> Combination: ...
    @overload
    def starting(self: F[bytes] | F[bytes | None], beginning: bytes) -> Combination: ...

    def starting(self, beginning: Any) -> Combination:
        """A string or binary that starts with `beginning`."""
        return self._where(conditions.starting(beginning))

    @overload
    def contains(self: F[str] | F[str | None], element: str) -> Combination: ...
    @overload
    def contains(self: F[bytes] | F[bytes | None], element: bytes) -> Combination: ...
    @overload
    def contains(self: F[list[V]], element: V) -> Combination: ...
    @overload
    def contains(self: F[list[V] | None], element: V) -> Combination: ...
    @overload
    def contains(self: F[builtins.set[V]], element: V) -> Combination: ...
    @overload
    def contains(self: F[builtins.set[V] | None], element: V) -> Combination: ...
    @overload
    def contains(self: F[frozenset[V]], element: V) -> Combination: ...
    @overload
    def contains(self: F[frozenset[V] | None], element: V) -> Combination: ...

    def contains(self, element: Any) -> Combination:
        """A set or list with this element; a string or binary with this part."""
        return self._where(conditions.contains(element))

    def sized(self, *, at_most: int) -> Combination:
        """At most this many elements or characters."""
        return self._where(conditions.sized(at_most))

    def _where(self, condition: Condition) -> Combination:
        return Combination("all_of", ({self.name: condition},))

    # Changes.

    def set(self, value: T) -> FieldChange:
        """Assigns a value."""
        return FieldChange(self.name, value)

    @overload
    def add(self: F[int] | F[int | None], amount: int) -> FieldChange: ...
    @overload
    def add(self: F[Decimal] | F[Decimal | None], amount: int | Decimal) -> FieldChange: ...
    @overload
    def add(self: F[float] | F[float | None], amount: float) -> FieldChange: ...
    @overload
    def add(self: F[builtins.set[V]], amount: AbstractSet[V]) -> FieldChange: ...
    @overload
    def add(self: F[builtins.set[V] | None], amount: AbstractSet[V]) -> FieldChange: ...
    @overload
    def add(self: F[frozenset[V]], amount: AbstractSet[V]) -> FieldChange: ...
    @overload
    def add(self: F[frozenset[V] | None], amount: AbstractSet[V]) -> FieldChange: ...

    def add(self, amount: Any) -> FieldChange:
        """Adds a number to a number, or elements to a set; see `sk.add`."""
        return self._changed(add(amount))

    @overload
    def discard(self: F[builtins.set[V]], elements: AbstractSet[V]) -> FieldChange: ...
    @overload
    def discard(self: F[builtins.set[V] | None], elements: AbstractSet[V]) -> FieldChange: ...
    @overload
    def discard(self: F[frozenset[V]], elements: AbstractSet[V]) -> FieldChange: ...
    @overload
    def discard(self: F[frozenset[V] | None], elements: AbstractSet[V]) -> FieldChange: ...

    def discard(self, elements: Any) -> FieldChange:
        """Removes elements from a set."""
        return self._changed(discard(elements))

    @overload
    def append(self: F[list[V]], elements: Sequence[V]) -> FieldChange: ...
    @overload
    def append(self: F[list[V] | None], elements: Sequence[V]) -> FieldChange: ...

    def append(self, elements: Sequence[Any]) -> FieldChange:
        """Appends elements to a list."""
        return self._changed(append(list(elements)))

    def initially(self, value: T) -> FieldChange:
        """Assigns a value if the field is absent: None, or an empty set."""
        return self._changed(initially(value))

    def _changed(self, operator: Operator) -> FieldChange:
        return FieldChange(self.name, operator)


FieldName = str | F[Any]
"""A field, where a call takes its name."""


def name_of(field: FieldName | None) -> str | None:
    return field.name if isinstance(field, F) else field


def field_name(field: FieldName) -> str:
    """The name of a field that a declaration needs. Raises DeclarationError for something that names none."""
    name = name_of(field)
    if not isinstance(name, str):
        raise DeclarationError(f"expected the name of a field, or sk.F(Product.stock), not {field!r}")
    return name


def _member(field: object) -> MemberDescriptorType:
    if isinstance(field, MemberDescriptorType):
        return field
    raise TypeError(f"sk.F takes a field of a class, such as sk.F(Product.stock), not {field!r}")


def _operand(value: Any) -> Any:
    """What a comparison compares with: a value, or another field."""
    if not isinstance(value, F):
        return value
    _, steps = value.name.parsed
    if steps:
        raise NoAccessPath(f"{value!r} is a place in a field; only fields compare with fields")
    return FieldValue(value.name)

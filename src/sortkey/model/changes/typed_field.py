"""`sk.F`: a field that type checkers know, for conditions and changes.

    stock = sk.F(Product.stock)
    db.update(product.key, [stock.add(-1)], where=stock >= 1)

To a type checker, `Product.stock` is an int, so `sk.F(Product.stock)` is an `F[int]`: it rejects a misspelt field, and
a value of another type. At run time, `Product.stock` is a member of the class, which knows its name.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from datetime import timedelta
from decimal import Decimal
from enum import Enum
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, Protocol, TypeVar, get_origin, overload

from sortkey.model.changes import conditions
from sortkey.model.changes.conditions import (
    NOT_A_BOOL,
    Comparison,
    Condition,
    Exists,
    FieldCondition,
    NotExists,
    OtherField,
)
from sortkey.model.changes.operators import Add, Append, Delete, FieldChange, IfNotExists, Remove
from sortkey.model.changes.places import ElementCodec, Fields, PlaceName, Step, find_place, parse_place, place_of
from sortkey.model.errors import DeclarationError, EncodeError, NoAccessPath, UnknownField
from sortkey.model.fields.codec import codec_of
from sortkey.model.fields.records import record_class

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
V = TypeVar("V")
E = TypeVar("E", bound=Enum)


class OfType(Protocol[T_co]):
    """A field that has this type, or one within it: F[int] is an OfType[int | None]."""

    def _type(self) -> T_co: ...


class SizeOf:
    """The number of elements of a field, for comparisons: `sk.F(Order.tags).size <= 3`."""

    __slots__ = ("_name",)

    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __init__(self, name: str) -> None:
        self._name = name

    def __eq__(self, number: int) -> Condition:  # type: ignore[override]
        return self._compared("=", number)

    def __ne__(self, number: int) -> Condition:  # type: ignore[override]
        return self._compared("<>", number)

    def __lt__(self, number: int) -> Condition:
        return self._compared("<", number)

    def __le__(self, number: int) -> Condition:
        return self._compared("<=", number)

    def __gt__(self, number: int) -> Condition:
        return self._compared(">", number)

    def __ge__(self, number: int) -> Condition:
        return self._compared(">=", number)

    def _compared(self, operator: str, number: int) -> Condition:
        if not isinstance(number, int):
            raise TypeError(f"a size is compared with an int, not {number!r}")
        return FieldCondition(self._name, conditions.Size(operator, number))


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
        base = record_class(self._annotation.base)
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
    @overload
    def __getitem__(self: F[dict[E, V]], step: E) -> F[V]: ...
    @overload
    def __getitem__(self: F[dict[E, V] | None], step: E) -> F[V]: ...
    @overload
    def __getitem__(self, step: str) -> F[Any]: ...

    def __getitem__(self, step: Step | Enum) -> F[Any]:
        """An element of a list or a tuple, the value of a key of a dict, or a field of a dataclass, a NamedTuple or a
        TypedDict, by its name."""
        _, steps = self.name.parsed
        return self._inside(*steps, step.value if isinstance(step, Enum) else step)

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

    def __eq__(self, other: T | OfType[T | None]) -> Condition:  # type: ignore[override]
        return FieldCondition(self.name, NotExists()) if other is None else self._compared("=", other)

    def __ne__(self, other: T | OfType[T | None]) -> Condition:  # type: ignore[override]
        return FieldCondition(self.name, Exists()) if other is None else self._compared("<>", other)

    def __lt__(self, other: T | OfType[T | None]) -> Condition:
        return self._compared("<", other)

    def __le__(self, other: T | OfType[T | None]) -> Condition:
        return self._compared("<=", other)

    def __gt__(self, other: T | OfType[T | None]) -> Condition:
        return self._compared(">", other)

    def __ge__(self, other: T | OfType[T | None]) -> Condition:
        return self._compared(">=", other)

    def _compared(self, operator: str, other: Any) -> Condition:
        if not isinstance(other, F):
            return FieldCondition(self.name, Comparison(operator, other))
        _, steps = other.name.parsed
        if steps:
            raise NoAccessPath(f"{other!r} is a place in a field; only fields compare with fields")
        return FieldCondition(self.name, OtherField(operator, other.name))

    def between(self, low: T, high: T) -> Condition:
        """From `low` to `high`, both included."""
        return FieldCondition(self.name, conditions.Between(low, high))

    def is_in(self, *values: T) -> Condition:
        """Equal to one of the values, of which there are 1 to 100."""
        return FieldCondition(self.name, conditions.In(values))

    def exists(self) -> Condition:
        """Neither None nor an empty set."""
        return FieldCondition(self.name, Exists())

    def not_exists(self) -> Condition:
        """None, or an empty set."""
        return FieldCondition(self.name, NotExists())

    @overload
    def begins_with(self: F[str] | F[str | None], beginning: str) -> Condition: ...
    @overload
    def begins_with(self: F[bytes] | F[bytes | None], beginning: bytes) -> Condition: ...

    def begins_with(self, beginning: Any) -> Condition:
        """A string or binary that begins with this."""
        return FieldCondition(self.name, conditions.BeginsWith(beginning))

    @overload
    def contains(self: F[str] | F[str | None], element: str) -> Condition: ...
    @overload
    def contains(self: F[bytes] | F[bytes | None], element: bytes) -> Condition: ...
    @overload
    def contains(self: F[list[V]], element: V) -> Condition: ...
    @overload
    def contains(self: F[list[V] | None], element: V) -> Condition: ...
    @overload
    def contains(self: F[tuple[V, ...]], element: V) -> Condition: ...
    @overload
    def contains(self: F[builtins.set[V]], element: V) -> Condition: ...
    @overload
    def contains(self: F[builtins.set[V] | None], element: V) -> Condition: ...
    @overload
    def contains(self: F[frozenset[V]], element: V) -> Condition: ...
    @overload
    def contains(self: F[frozenset[V] | None], element: V) -> Condition: ...

    def contains(self, element: Any) -> Condition:
        """A set or list with this element; a string or binary with this part."""
        return FieldCondition(self.name, conditions.Contains(element))

    @property
    def size(self) -> SizeOf:
        """The number of elements of a set, list or dict, of characters or bytes; 0 if it is absent. Compare it with a
        number."""
        return SizeOf(self.name)

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
    def add(self: F[timedelta] | F[timedelta | None], amount: timedelta) -> FieldChange: ...
    @overload
    def add(self: F[builtins.set[V]], amount: AbstractSet[V]) -> FieldChange: ...
    @overload
    def add(self: F[builtins.set[V] | None], amount: AbstractSet[V]) -> FieldChange: ...
    @overload
    def add(self: F[frozenset[V]], amount: AbstractSet[V]) -> FieldChange: ...
    @overload
    def add(self: F[frozenset[V] | None], amount: AbstractSet[V]) -> FieldChange: ...

    def add(self, amount: Any) -> FieldChange:
        """Adds a number to a number, a duration to a duration, or elements to a set. An absent field starts from its
        default, or from 0."""
        return FieldChange(self.name, Add(amount))

    @overload
    def delete(self: F[builtins.set[V]], elements: AbstractSet[V]) -> FieldChange: ...
    @overload
    def delete(self: F[builtins.set[V] | None], elements: AbstractSet[V]) -> FieldChange: ...
    @overload
    def delete(self: F[frozenset[V]], elements: AbstractSet[V]) -> FieldChange: ...
    @overload
    def delete(self: F[frozenset[V] | None], elements: AbstractSet[V]) -> FieldChange: ...

    def delete(self, elements: Any) -> FieldChange:
        """Deletes elements of a set."""
        return FieldChange(self.name, Delete(elements))

    @overload
    def append(self: F[list[V]], elements: Sequence[V]) -> FieldChange: ...
    @overload
    def append(self: F[list[V] | None], elements: Sequence[V]) -> FieldChange: ...
    @overload
    def append(self: F[tuple[V, ...]], elements: Sequence[V]) -> FieldChange: ...

    def append(self, elements: Sequence[Any]) -> FieldChange:
        """Appends elements to a list, or to a tuple of any length."""
        made = tuple(elements) if get_origin(self._annotation.base) is tuple else list(elements)
        return FieldChange(self.name, Append(made))

    def if_not_exists(self, value: T) -> FieldChange:
        """Assigns a value if the field is absent: None, or an empty set."""
        return FieldChange(self.name, IfNotExists(value))

    def remove(self) -> FieldChange:
        """Removes the value: the field is None, or an empty set; an element of a list or a key of a dict is gone."""
        field, steps = self.name.parsed
        codec = find_place(self._fields, field, steps).fields.codec if steps else None
        if isinstance(codec, ElementCodec):
            if codec.is_required:
                raise EncodeError(f"{self!r} cannot be removed: its TypedDict requires it")
            return FieldChange(self.name, Remove())
        base = get_origin(self._annotation.base)
        return FieldChange(self.name, base() if base in (builtins.set, frozenset) else None)


def field_of(cls: type, name: str) -> F[Any]:
    """The field, or the place in one, that has this name in a class."""
    made: F[Any] = object.__new__(F)
    made.owner = cls
    made.name = name if isinstance(name, PlaceName) else place_of(cls, *parse_place(name, None))
    return made


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

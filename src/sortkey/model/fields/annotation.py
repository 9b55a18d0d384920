"""Parses field annotations: the type without aliases, `Optional` and `Annotated`, and the marks found on it."""

from __future__ import annotations

import sys
from collections import ChainMap
from types import NoneType, SimpleNamespace, UnionType
from typing import Annotated, Any, Final, ForwardRef, NamedTuple, NewType, Union, get_args, get_origin, get_type_hints

import msgspec

from sortkey.model.fields.records import field_names
from sortkey.model.fields.stored_as import StoredAs, StoredType, registered_codec

if sys.version_info >= (3, 14):
    import annotationlib


class Inexact:
    """The mark in `Annotated[float, inexact]`: allows float, with its rounding."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "inexact"


inexact: Final = Inexact()
"""Allows a float, with its rounding: `Annotated[float, sk.inexact]`."""


class InKey:
    """The mark in `Annotated[str, in_key]`: the field is stored in the primary key only, not as an attribute."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "in_key"


in_key: Final = InKey()
"""The field is stored in the primary key only, not as an attribute: `Annotated[str, sk.in_key]`. Conditions cannot use
it."""


class Epoch:
    """The mark in `Annotated[datetime, epoch]`: the time is stored as a number, in whole seconds since 1970."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "epoch"


epoch: Final = Epoch()
"""The time is stored as a number, in whole seconds since 1970: `Annotated[datetime, sk.epoch]`."""


class Stamp:
    """The mark in `Annotated[datetime | None, created]`: sessions set the time."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"sk.{self.name}"


created: Final = Stamp("created")
"""Sessions set the time at which the item was put first: `Annotated[datetime | None, sk.created] = None`."""
updated: Final = Stamp("updated")
"""Sessions set the time of each put and update: `Annotated[datetime | None, sk.updated] = None`."""


class Annotation(NamedTuple):
    base: Any
    """A type, a union of several, or a type with a codec (`StoredType`)."""
    optional: bool
    inexact: bool
    in_key: bool = False
    constraints: tuple[msgspec.Meta, ...] = ()
    epoch: bool = False
    stamp: Stamp | None = None

    @property
    def declared(self) -> Any:
        """The type as it is declared, also if it has a codec."""
        return self.base.declared if isinstance(self.base, StoredType) else self.base


class Unresolved(NamedTuple):
    """An annotation that uses an undefined name, such as a class that is defined later."""

    text: str


def parse_annotation(annotation: Any) -> Annotation:
    """The type, whether it allows None, its marks and its constraints. The marks of a field go before those of its
    alias."""
    optional = False
    marks: list[Any] = []
    while True:
        if get_origin(annotation) is Annotated:
            annotation, *found = get_args(annotation)
            # Python puts the marks of an alias first.
            marks += reversed(found)
        elif isinstance(annotation, NewType):
            annotation = annotation.__supertype__
        elif type(annotation).__name__ == "TypeAliasType":
            annotation = annotation.__value__
        elif get_origin(annotation) in (Union, UnionType):
            members = [member for member in get_args(annotation) if member is not NoneType]
            optional |= len(members) < len(get_args(annotation))
            if len(members) > 1:
                return _annotation(Union.__getitem__(tuple(members)), optional, marks)
            annotation = members[0]
        else:
            return _annotation(annotation, optional or annotation is Any, marks)


def _annotation(base: Any, optional: bool, marks: list[Any]) -> Annotation:
    """`marks` has the outermost first."""
    form = next((mark for mark in marks if isinstance(mark, StoredAs | Epoch)), None) or registered_codec(base)
    if isinstance(form, StoredAs):
        base = StoredType(base, form)
    constraints = tuple(mark for mark in reversed(marks) if isinstance(mark, msgspec.Meta))
    stamp = next((mark for mark in marks if isinstance(mark, Stamp)), None)
    return Annotation(base, optional, inexact in marks, in_key in marks, constraints, form is epoch, stamp)


def resolve_annotations(struct: type) -> dict[str, Any]:
    """The annotation of each field: a type, or Unresolved."""
    stored = field_names(struct)
    fields: dict[str, Any] = {}
    for owner in reversed(struct.__mro__):
        annotations = _own_annotations(owner)
        names = [name for name in annotations if name in stored]
        fields |= {name: evaluate_annotation(annotations[name], owner, struct) for name in names}
    return fields


def _own_annotations(owner: type) -> dict[str, Any]:
    """The annotations in the body of a class: types, texts, and references to what is not defined yet."""
    if sys.version_info >= (3, 14):
        return annotationlib.get_annotations(owner, format=annotationlib.Format.FORWARDREF)
    own: dict[str, Any] = vars(owner).get("__annotations__", {})
    return own


def evaluate_annotation(annotation: Any, owner: type, struct: type) -> Any:
    """The type that an annotation in the body of `owner` means, or Unresolved."""
    module = vars(sys.modules[owner.__module__]) if owner.__module__ in sys.modules else {}
    # While the class is made, its name is not bound yet, and a field may have its type. Class attributes come last: a
    # field may have the name of its type, `date: date`.
    names = ChainMap({struct.__name__: struct}, module, dict(vars(owner)))
    carrier = SimpleNamespace(__annotations__={"it": annotation})
    try:
        return get_type_hints(carrier, module, names, include_extras=True)["it"]
    except NameError:
        return Unresolved(annotation.__forward_arg__ if isinstance(annotation, ForwardRef) else str(annotation))

"""Parses field annotations: the type without aliases, `Optional` and `Annotated`, and the marks found on it."""

from __future__ import annotations

import sys
from collections import ChainMap
from collections.abc import Callable, Mapping
from types import NoneType, SimpleNamespace, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    ForwardRef,
    Generic,
    NamedTuple,
    NewType,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec

from sortkey.model.errors import DeclarationError
from sortkey.model.fields.real_types import real_type
from sortkey.model.fields.records import field_names, record_class
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
    """The mark in `Annotated[str, in_key]`: the field is stored in keys only, not as an attribute."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "in_key"


in_key: Final = InKey()
"""The field is stored in keys only, not as an attribute: `Annotated[str, sk.in_key]`. The primary key decides, or else
the keys of the indexes that contain it. Conditions can use it if an index key attribute has nothing but this field:
`"CITY#{city}"`."""


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


class Version:
    """The mark in `Annotated[int, version]`: every write raises the number, and a put checks it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "sk.version"


version: Final = Version()
"""The item's revision, the number of its writes: `Annotated[int, sk.version] = 0`. Every write raises it by one, and a
put fails unless the stored item has the revision of the item that is put."""


class Computed:
    """The mark in `Annotated[str, computed("email", by=str.lower)]`: sessions compute the field from others."""

    __slots__ = ("by", "inputs")

    def __init__(self, inputs: tuple[str, ...], by: Callable[..., Any]) -> None:
        self.inputs = inputs
        self.by = by

    def __repr__(self) -> str:
        return f"sk.computed({', '.join(map(repr, self.inputs))})"


def computed(*inputs: str, by: Callable[..., Any]) -> Computed:
    """The field is computed from others, and stored: every write that changes one of them sets it.

        email_lower: Annotated[str, sk.computed("email", by=str.lower)] = ""
        total: Annotated[int, sk.computed("price", "amount", by=operator.mul)] = 0

    `by` gets the values of these fields, in this order. An item that was not written yet shows the default, and one
    that was read what is stored."""
    if not inputs or not all(isinstance(each, str) for each in inputs):
        raise DeclarationError('sk.computed: name the fields that it is computed from: sk.computed("email", by=…)')
    if not callable(by):
        raise DeclarationError(f"sk.computed: by must be a function, not {by!r}")
    return Computed(inputs, by)


class Annotation(NamedTuple):
    base: Any
    """A type, a union of several, or a type with a codec (`StoredType`)."""
    optional: bool
    inexact: bool
    in_key: bool = False
    constraints: tuple[msgspec.Meta, ...] = ()
    epoch: bool = False
    stamp: Stamp | None = None
    version: bool = False
    computed: Computed | None = None

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
            members = [real_type(member) for member in get_args(annotation) if member is not NoneType]
            optional |= len(members) < len(get_args(annotation))
            if len(members) > 1:
                return _annotation(Union.__getitem__(tuple(members)), optional, marks)
            annotation = members[0]
        else:
            return _annotation(real_type(annotation), optional or annotation is Any, marks)


def _annotation(base: Any, optional: bool, marks: list[Any]) -> Annotation:
    """`marks` has the outermost first."""
    form = next((mark for mark in marks if isinstance(mark, StoredAs | Epoch)), None) or registered_codec(base)
    if isinstance(form, StoredAs):
        base = StoredType(base, form)
    constraints = tuple(mark for mark in reversed(marks) if isinstance(mark, msgspec.Meta))
    stamp = next((mark for mark in marks if isinstance(mark, Stamp)), None)
    computes = next((mark for mark in marks if isinstance(mark, Computed)), None)
    return Annotation(
        base, optional, inexact in marks, in_key in marks, constraints, form is epoch, stamp, version in marks, computes
    )


def resolve_annotations(declared: Any) -> dict[str, Any]:
    """The annotation of each field of a class, or of a generic class with its type arguments: a type, or Unresolved."""
    struct = record_class(declared)
    stored = field_names(struct)
    given = _type_arguments(declared)
    fields: dict[str, Any] = {}
    for owner in reversed(struct.__mro__):
        annotations = _own_annotations(owner)
        for name in annotations:
            if name in stored:
                found = evaluate_annotation(annotations[name], owner, struct)
                fields[name] = substituted(found, given.get(owner, {}))
    return fields


def _type_arguments(declared: Any, outer: Mapping[Any, Any] | None = None) -> dict[type, dict[Any, Any]]:
    """What the type variables stand for in a class and in each class that it derives from."""
    origin = record_class(declared)
    arguments = [substituted(each, outer or {}) for each in get_args(declared)]
    own = dict(zip(getattr(origin, "__parameters__", ()), arguments, strict=False))
    found = {origin: own}
    for base in vars(origin).get("__orig_bases__", origin.__bases__):
        if isinstance(record_class(base), type) and record_class(base) is not Generic:
            found |= _type_arguments(base, own)
    return found


def substituted(annotation: Any, given: Mapping[Any, Any]) -> Any:
    """The annotation with types instead of type variables, where they are known."""
    if isinstance(annotation, TypeVar):
        return given.get(annotation, annotation)
    parameters = () if isinstance(annotation, type) else getattr(annotation, "__parameters__", ())
    if not given or not parameters:
        return annotation
    return annotation[tuple(given.get(each, each) for each in parameters)]


def type_variable(annotation: Any) -> TypeVar | None:
    """A type variable in an annotation that nothing stands for; None if there is none."""
    if isinstance(annotation, TypeVar):
        return annotation
    parameters = () if isinstance(annotation, type) else getattr(annotation, "__parameters__", ())
    return next(iter(parameters), None)


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
    variables = {each.__name__: each for each in getattr(owner, "__type_params__", ())}
    names = ChainMap({struct.__name__: struct}, variables, module, dict(vars(owner)))
    carrier = SimpleNamespace(__annotations__={"it": annotation})
    try:
        return get_type_hints(carrier, module, names, include_extras=True)["it"]
    except NameError:
        return Unresolved(annotation.__forward_arg__ if isinstance(annotation, ForwardRef) else str(annotation))

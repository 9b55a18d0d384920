"""A key's signature: the fields that it is called with, declared as a function so that type checkers know them.

    @sk.Key("TENANT#{tenant}", "PRODUCT#{number:06}")
    def key(self, *, tenant: str, number: int = ...) -> None: ...

The function is never called. It is compared with the templates and the fields when the class is made, so that it says
what is true.
"""

from __future__ import annotations

from collections.abc import Mapping
from inspect import Parameter, signature
from types import FunctionType
from typing import Any

from sortkey.model.errors import DeclarationError, suggestion
from sortkey.model.items.annotation import Annotation, Unresolved, evaluate_annotation, parse_annotation
from sortkey.model.items.stored_as import StoredType
from sortkey.model.keys.key_layout import KeyLayout


class KeySignature:
    def __init__(self, function: object) -> None:
        """Raises DeclarationError for what is not the declaration of a signature."""
        if not isinstance(function, FunctionType):
            raise DeclarationError(f"@sk.Key and @sk.Index take a function, {_EXAMPLE} They cannot take {function!r}")
        found = list(signature(function).parameters.values())
        if not found or found[0].kind is not Parameter.POSITIONAL_OR_KEYWORD:
            raise DeclarationError(f"the signature of a key begins with self, {_EXAMPLE}")
        self.parameters = found[1:]
        for parameter in self.parameters:
            if parameter.kind is not Parameter.KEYWORD_ONLY:
                raise DeclarationError(f"keys take fields by name, so {parameter.name} must come after *, {_EXAMPLE}")
            if parameter.default not in (Parameter.empty, ...):
                raise DeclarationError(f"a key has no defaults; if {parameter.name} may be left out, write = ...")

    def check(self, owner: type, layout: KeyLayout, fields: Mapping[str, Annotation]) -> None:
        """Raises DeclarationError if the signature is not that of the key. `fields` are the types of its fields."""
        declared = {parameter.name: parameter for parameter in self.parameters}
        for name in declared:
            if name not in layout.fields:
                raise DeclarationError(f"the key has no field {name!r}{suggestion(name, layout.fields)}")
        missing = [name for name in layout.fields if name not in declared]
        if missing:
            raise DeclarationError(f"the signature lacks {', '.join(missing)}")
        _check_defaults(layout, declared)
        for name, parameter in declared.items():
            _check_type(owner, parameter, fields[name])


_EXAMPLE = "such as: def key(self, *, tenant: str, number: int = ...) -> None: ..."


def _check_defaults(layout: KeyLayout, declared: Mapping[str, Parameter]) -> None:
    optional: str | None = None
    for name in layout.fields:
        if declared[name].default is ...:
            if name in layout.partition_fields:
                raise DeclarationError(f"{name} is in the partition key, so it cannot be left out; remove = ...")
            optional = optional or name
        elif optional is not None:
            # A path takes a left part of the sort key.
            raise DeclarationError(f"{optional} may be left out, so {name}, which comes after it, needs = ..., too")


def _check_type(owner: type, parameter: Parameter, field: Annotation) -> None:
    name = parameter.name
    if parameter.annotation is Parameter.empty:
        raise DeclarationError(f"{name} needs a type in the signature")
    found: Any = evaluate_annotation(parameter.annotation, owner, owner)
    if isinstance(found, Unresolved):
        raise DeclarationError(f"the type of {name}, {found.text}, is not defined")
    stated = parse_annotation(found)
    if stated.optional:
        raise DeclarationError(f"{name} is {found} in the signature, but a key has no None")
    types = [each.base.declared if isinstance(each.base, StoredType) else each.base for each in (stated, field)]
    if types[0] != types[1]:
        raise DeclarationError(f"{name} is {_shown(types[0])} in the signature and {_shown(types[1])} in the class")


def _shown(base: Any) -> str:
    return base.__name__ if isinstance(base, type) else str(base)

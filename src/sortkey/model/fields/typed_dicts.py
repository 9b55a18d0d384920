"""Fields whose type is a TypedDict: maps whose keys have types of their own.

A key that the TypedDict does not require may be absent, in the item and in the row. As with structs, attributes of a
stored map that the TypedDict does not declare are not shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final, NotRequired, Required, get_args, get_origin, get_type_hints

from sortkey.model.errors import DeclarationError, EncodeError, shown
from sortkey.model.fields.annotation import substituted
from sortkey.model.fields.converter import Converter, Value, content_converter, wrong_type
from sortkey.model.fields.records import record_class
from sortkey.model.fields.stored_forms import other_forms

ConverterOf = Callable[[Any], Converter]
"""The converter of an annotation."""


class TypedMap:
    """The keys of one TypedDict."""

    def __init__(self, declared: Any) -> None:
        self.cls: Any = record_class(declared)
        self.name: str = self.cls.__name__
        self._given = dict(zip(getattr(self.cls, "__parameters__", ()), get_args(declared), strict=False))
        self.converters: Mapping[str, Converter] | None = None
        """Of the keys; None before they are made. A TypedDict may contain itself."""

    @cached_property
    def _hints(self) -> dict[str, Any]:
        try:
            return get_type_hints(self.cls, include_extras=True)
        except NameError as error:
            raise DeclarationError(f"{self.name}: {error}, or not where the TypedDict is declared") from None

    @cached_property
    def types(self) -> dict[str, Any]:
        """The annotation of each key. Raises DeclarationError for a type that is not defined."""
        return {name: substituted(_bare(hint), self._given) for name, hint in self._hints.items()}

    @cached_property
    def required(self) -> frozenset[str]:
        """The keys that must be there. Python 3.11 does not see NotRequired in an annotation that is text."""
        declared: frozenset[str] = self.cls.__required_keys__
        return frozenset(
            name
            for name, hint in self._hints.items()
            if get_origin(hint) is Required or (name in declared and get_origin(hint) is not NotRequired)
        )


def _bare(annotation: Any) -> Any:
    while get_origin(annotation) in (Required, NotRequired):
        (annotation,) = get_args(annotation)
    return annotation


_known: Final[dict[Any, TypedMap]] = {}


def typed_dict(declared: Any) -> TypedMap:
    """The keys of a TypedDict, or of a generic one with its type arguments."""
    if declared not in _known:
        _known[declared] = TypedMap(declared)
    return _known[declared]


def typed_dict_converter(declared: Any, of: ConverterOf) -> Converter:
    """Raises DeclarationError for a key whose type an item cannot hold."""
    known = typed_dict(declared)
    if known.converters is None:
        made: dict[str, Converter] = {}
        known.converters = made
        try:
            for name, annotation in known.types.items():
                made[name] = _key_converter(known, name, annotation, of)
        except DeclarationError:
            known.converters = None
            raise
    converters, required = known.converters, known.required

    def encode(values: Any) -> Value:
        if not isinstance(values, dict):
            raise wrong_type(f"dict, as {known.name} is,", values)
        if not required <= values.keys():
            raise EncodeError(f"{known.name} requires {', '.join(sorted(required - values.keys()))}")
        return {"M": {name: _encoded(known, name, value) for name, value in values.items()}}

    def _encoded(known: TypedMap, name: Any, value: Any) -> Value:
        found = converters.get(name)
        if found is None:
            raise EncodeError(f"{known.name} has no key {shown(name)}; it has {', '.join(converters)}")
        try:
            return found.encode(value)
        except EncodeError as error:
            raise EncodeError(f"{known.name}[{shown(name)}]: {error}") from None

    def read(content: Any) -> dict[str, Any]:
        missing = required - content.keys()
        if missing:
            raise ValueError(f"{known.name} requires {', '.join(sorted(missing))}")
        found = {name: each.decode(content[name]) for name, each in converters.items() if name in content}
        # Keys that it does not declare would be lost.
        other_forms.count += len(found) < len(content)
        return found

    return content_converter(encode, "M", read)


def _key_converter(known: TypedMap, name: str, annotation: Any, of: ConverterOf) -> Converter:
    try:
        return of(annotation)
    except DeclarationError as error:
        raise DeclarationError(f"{known.name}[{name!r}]: {error}") from None

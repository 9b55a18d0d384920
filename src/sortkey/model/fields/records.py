"""What a class with fields declares, be it a struct, a dataclass or a NamedTuple: names, defaults, and the tag that
tells it apart. A generic class may have its type arguments, as in `Box[int]`.

A field of a dataclass with `init=False` is made by the class itself, so it is not stored.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple, get_origin

import msgspec


class Factory(NamedTuple):
    """A default that a dataclass makes for each object; msgspec has a class of its own with this attribute."""

    factory: Callable[[], Any]


class Tag(NamedTuple):
    """The attribute that says which class a map is of: msgspec's `tag_field` and `tag`."""

    attribute: str
    name: str | int

    @property
    def value(self) -> dict[str, Any]:
        """In boto3 shape."""
        return {"S": self.name} if isinstance(self.name, str) else {"N": str(self.name)}


def is_record(cls: Any) -> bool:
    """Whether it is a class whose objects are maps of fields."""
    made = record_class(cls)
    return isinstance(made, type) and (
        issubclass(made, msgspec.Struct) or dataclasses.is_dataclass(made) or _is_named_tuple(made)
    )


def record_class(cls: Any) -> Any:
    """The class itself, without type arguments."""
    return get_origin(cls) or cls


def _is_named_tuple(cls: type) -> bool:
    """Whether it is a NamedTuple with types."""
    return issubclass(cls, tuple) and hasattr(cls, "_fields") and hasattr(cls, "__annotations__")


def field_names(cls: type) -> tuple[str, ...]:
    if issubclass(cls, msgspec.Struct):
        return cls.__struct_fields__
    if issubclass(cls, tuple):
        names: tuple[str, ...] = getattr(cls, "_fields", ())
        return names
    return tuple(field.name for field in _dataclass_fields(cls))


def attribute_names(cls: type) -> tuple[str, ...]:
    """In the order of the fields; they differ where the class renames."""
    return cls.__struct_encode_fields__ if issubclass(cls, msgspec.Struct) else field_names(cls)


def declared_default(cls: type, name: str) -> Any:
    """A field's default as it is declared: a value, an object with a `factory`, or NODEFAULT."""
    names = field_names(cls)
    if issubclass(cls, msgspec.Struct):
        defaults = cls.__struct_defaults__
        index = names.index(name) - len(names) + len(defaults)
        return defaults[index] if index >= 0 else msgspec.NODEFAULT
    if issubclass(cls, tuple):
        return getattr(cls, "_field_defaults", {}).get(name, msgspec.NODEFAULT)
    field = next(each for each in _dataclass_fields(cls) if each.name == name)
    if field.default_factory is not dataclasses.MISSING:
        return Factory(field.default_factory)
    return msgspec.NODEFAULT if field.default is dataclasses.MISSING else field.default


def tag_of(cls: type) -> Tag | None:
    """The tag of a struct that has one."""
    config = getattr(record_class(cls), "__struct_config__", None)
    # msgspec.Struct itself has a descriptor there.
    if not isinstance(config, msgspec.structs.StructConfig) or config.tag is None or config.tag_field is None:
        return None
    return Tag(config.tag_field, config.tag)


def replace_fields(record: Any, **changes: Any) -> Any:
    """A copy with some fields changed."""
    if dataclasses.is_dataclass(record) and not isinstance(record, type):
        return dataclasses.replace(record, **changes)
    if isinstance(record, tuple):
        return record._replace(**changes)  # type: ignore[attr-defined]
    replace = getattr(record, "__replace__", None)
    return msgspec.structs.replace(record, **changes) if replace is None else replace(**changes)


def _dataclass_fields(cls: Any) -> list[dataclasses.Field[Any]]:
    return [field for field in dataclasses.fields(cls) if field.init]

"""What a class with fields declares, be it a struct or a dataclass: names, defaults, and the tag that tells it apart.

A field of a dataclass with `init=False` is made by the class itself, so it is not stored.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

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
    return isinstance(cls, type) and (issubclass(cls, msgspec.Struct) or dataclasses.is_dataclass(cls))


def field_names(cls: type) -> tuple[str, ...]:
    if issubclass(cls, msgspec.Struct):
        return cls.__struct_fields__
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
    field = next(each for each in _dataclass_fields(cls) if each.name == name)
    if field.default_factory is not dataclasses.MISSING:
        return Factory(field.default_factory)
    return msgspec.NODEFAULT if field.default is dataclasses.MISSING else field.default


def tag_of(cls: type) -> Tag | None:
    """The tag of a struct that has one."""
    config = getattr(cls, "__struct_config__", None)
    if config is None or config.tag is None or config.tag_field is None:
        return None
    return Tag(config.tag_field, config.tag)


def replace_fields(record: Any, **changes: Any) -> Any:
    """A copy with some fields changed."""
    if dataclasses.is_dataclass(record) and not isinstance(record, type):
        return dataclasses.replace(record, **changes)
    replace = getattr(record, "__replace__", None)
    return msgspec.structs.replace(record, **changes) if replace is None else replace(**changes)


def _dataclass_fields(cls: Any) -> list[dataclasses.Field[Any]]:
    return [field for field in dataclasses.fields(cls) if field.init]

"""Items as pydantic sees them, so that FastAPI takes them as bodies and answers with them.

msgspec does the work: it converts what comes in, writes what goes out, and describes both. pydantic is imported by the
one who calls these functions, not by Sortkey.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

import msgspec

from sortkey.model.fields.real_types import RealTypes, real_time, real_type
from sortkey.model.fields.stored_as import StoredType, registered_codec

_REFERENCE: Final = "#/$defs/"


def core_schema(cls: type[msgspec.Struct]) -> Any:
    """The schema for pydantic's core: an item is taken as it is, and anything else is converted."""
    made = import_module("pydantic_core.core_schema")

    def validate(value: Any) -> msgspec.Struct:
        return value if isinstance(value, cls) else msgspec.convert(value, cls, dec_hook=_decode)

    return made.no_info_plain_validator_function(
        validate, serialization=made.plain_serializer_function_ser_schema(_to_builtins)
    )


def json_schema(cls: type[msgspec.Struct]) -> dict[str, Any]:
    """The description in JSON Schema, without references: pydantic has its own place for definitions."""
    template = f"{_REFERENCE}{{name}}"
    try:
        (schema,), definitions = msgspec.json.schema_components([cls], schema_hook=_describe, ref_template=template)
    except TypeError:
        # msgspec cannot describe a default of a type with a codec. The other routes of the program need theirs.
        return {"type": "object", "title": cls.__name__}
    inlined: dict[str, Any] = _inlined(schema, definitions, ())
    return inlined


def _inlined(schema: Any, definitions: dict[str, Any], around: tuple[str, ...]) -> Any:
    if isinstance(schema, list):
        return [_inlined(each, definitions, around) for each in schema]
    if not isinstance(schema, dict):
        return schema
    name = str(schema.get("$ref", "")).removeprefix(_REFERENCE)
    if not name:
        # A discriminator's mapping would point to definitions that are not there.
        return {key: _inlined(each, definitions, around) for key, each in schema.items() if key != "discriminator"}
    if name in around:
        # A class that contains itself.
        return {"type": "object", "title": name}
    return _inlined(definitions[name], definitions, (*around, name))


def _to_builtins(item: Any) -> Any:
    return msgspec.to_builtins(item, enc_hook=_encode)


def _encode(value: Any) -> Any:
    codec = registered_codec(type(value))
    if codec is None and isinstance(value, RealTypes.datetime):
        return real_time(value)
    if codec is None:
        raise NotImplementedError(f"{type(value).__name__} has no JSON; declare it with sk.codec")
    return StoredType(type(value), codec).encode(value)


def _decode(cls: type, value: Any) -> Any:
    codec = registered_codec(cls)
    if codec is None and real_type(cls) is not cls:
        return msgspec.convert(value, real_type(cls))
    if codec is None:
        raise NotImplementedError(f"{cls.__name__} has no JSON; declare it with sk.codec")
    return StoredType(cls, codec).decode(msgspec.convert(value, codec.stored))


def _describe(cls: type) -> dict[str, Any]:
    codec = registered_codec(cls)
    if codec is None:
        return {} if real_type(cls) is cls else msgspec.json.schema(real_type(cls))
    return msgspec.json.schema(codec.stored)

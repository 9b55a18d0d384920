"""Items as Amazon Ion text, the format of exports and imports, and back.

A number is a decimal, `600.`; binary a blob, `{{aGk=}}`; a set a list with the annotation `$dynamodb_SS`, `_NS` or
`_BS`. Writing needs nothing; reading needs the extra `ion`.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final, NamedTuple

import orjson

from sortkey.extras import installed_by
from sortkey.values.attribute import AttributeValue, Item

VERSION: Final = b"$ion_1_0"
"""What every line begins with."""

_IDENTIFIER: Final = re.compile(r"(?!(?:null|true|false|nan)$)(?!\$[0-9]+$)[A-Za-z_$][A-Za-z0-9_$]*")
_SETS: Final = {f"$dynamodb_{kind}": kind for kind in ("SS", "NS", "BS")}


class NotAnItem(Exception):
    """What was read is no item; the message says why."""


def written(item: Mapping[str, AttributeValue]) -> bytes:
    """A canonical item as a struct, on one line."""
    return b"{%b}" % b",".join(b"%b:%b" % (_name(name), _value(value)) for name, value in item.items())


def _name(name: str) -> bytes:
    if _IDENTIFIER.fullmatch(name):
        return name.encode()
    # Ion has all escapes of JSON, and this one.
    return b"'%b'" % orjson.dumps(name)[1:-1].replace(b"'", rb"\'")


def _value(value: AttributeValue) -> bytes:
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return orjson.dumps(content)
        case "N":
            return _number(content)
        case "B":
            return b"{{%b}}" % content.encode()
        case "BOOL":
            return b"true" if content else b"false"
        case "NULL":
            return b"null"
        case "M":
            return written(content)
        case "L":
            return b"[%b]" % b",".join(map(_value, content))
    return b"$dynamodb_%b::[%b]" % (kind.encode(), b",".join(_value({kind[0]: each}) for each in content))


def _number(text: str) -> bytes:
    """Of canonical numbers, which have no exponents."""
    return (text if "." in text else f"{text}.").encode()


class Library(NamedTuple):
    """What reads Ion."""

    loads: Callable[[bytes], Any]
    error: type[Exception]
    null: type


@cache
def library() -> Library:
    """Raises MissingExtra."""
    with installed_by("ion"):
        return Library(
            import_module("amazon.ion.simpleion").loads,
            import_module("amazon.ion.exceptions").IonException,
            import_module("amazon.ion.simple_types").IonPyNull,
        )


def read(line: bytes) -> Item:
    """The item of a line `$ion_1_0 {Item:{…}}`, not yet checked as an item. Raises NotAnItem."""
    try:
        found = library().loads(line)
    except (library().error, ValueError, EOFError) as error:
        raise NotAnItem(f"not Ion text: {error}") from error
    item = found.get("Item") if isinstance(found, Mapping) else None
    if not isinstance(item, Mapping):
        raise NotAnItem("not a line of {Item:{…}}")
    return {name: _attribute(each) for name, each in item.items()}


def _attribute(value: Any) -> AttributeValue:
    if isinstance(value, library().null):  # of any type
        return {"NULL": True}
    match value.ion_type.name:
        case "BOOL":
            return {"BOOL": bool(value)}
        case "INT" | "DECIMAL":
            return {"N": f"{value!s}"}
        case "FLOAT":
            return {"N": repr(float(value))}
        case "STRING":
            return {"S": str(value)}
        case "SYMBOL":
            return {"S": value.text}
        case "BLOB":
            return {"B": b64encode(value).decode()}
        case "STRUCT":
            return {"M": {name: _attribute(each) for name, each in value.items()}}
        case "LIST":
            return _list(value)
    raise NotAnItem(f"DynamoDB has no {value.ion_type.name.lower()}")


def _list(value: Any) -> AttributeValue:
    kinds = [_SETS.get(annotation.text) for annotation in value.ion_annotations]
    members = [_attribute(each) for each in value]
    if not kinds:
        return {"L": members}
    (kind,) = kinds if len(kinds) == 1 else (None,)
    if kind is None:
        raise NotAnItem("a list may have one annotation: $dynamodb_SS, $dynamodb_NS or $dynamodb_BS")
    try:
        return {kind: [each[kind[0]] for each in members]}
    except KeyError:
        raise NotAnItem(f"a member of a $dynamodb_{kind} has another type") from None

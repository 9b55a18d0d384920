"""What the store rejects in a request, in the words of the declarations.

Sizes are not computed before a request is sent: the store computes them anyway. If it rejects a request, the values are
looked at here: a key that is too long, an item that is too large, half of a surrogate pair. The error then names the
class and the field. It is a `ModelError`, and still the store's ClientError.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from botocore.exceptions import ClientError

from sortkey.client.boto3_shapes import to_dynamodb_json
from sortkey.limits import ATTRIBUTE_NAME_BYTES, ITEM_BYTES, NESTING_DEPTH, PARTITION_KEY_BYTES, SORT_KEY_BYTES
from sortkey.model.calls.steps import Call, code_of
from sortkey.model.errors import EncodeError, KeyPartError
from sortkey.model.fields.codec import Row
from sortkey.model.fields.converter import Value
from sortkey.model.items.schema import Schema
from sortkey.model.items.table import Table
from sortkey.model.keys.key_attribute import KeyAttribute
from sortkey.model.keys.key_layout import KeyLayout
from sortkey.values.size import value_size

_OF_VALUES: Final = frozenset({"ValidationException", "SerializationException"})
_HALF: Final = re.compile("[\ud800-\udfff]")
_SHOWN: Final = 60
_EXPRESSIONS: Final = ("UpdateExpression", "ConditionExpression", "FilterExpression", "KeyConditionExpression")


class _Rejected(ClientError):
    """The store's error, with another text."""

    def __init__(self, message: str, response: Any, operation_name: str) -> None:
        Exception.__init__(self, message)
        self.response = response
        self.operation_name = operation_name

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.response, self.operation_name)


class RejectedValue(_Rejected, EncodeError):
    """The store cannot hold a value, or the item that it makes."""


class RejectedKey(_Rejected, KeyPartError):
    """A key is too long for the store."""


class _Fault(NamedTuple):
    text: str
    is_key: bool = False


class _Request(NamedTuple):
    """One request on an item, or one of a batch or a transaction."""

    table: str
    row: Row
    """The item of a put; the key of another request; empty for a query."""
    is_put: bool
    members: Mapping[str, Any]
    """With its expressions."""


def explained(call: Call, error: ClientError) -> ClientError:
    """The error that names the class and the field whose value the store rejects; the error itself if that is not what
    it is about."""
    if code_of(error) not in _OF_VALUES or isinstance(error, RejectedValue | RejectedKey):
        return error
    for request in _requests(call):
        fault = _fault(request, call.path, str(error))
        if fault is not None:
            made = RejectedKey if fault.is_key else RejectedValue
            return made(fault.text, error.response, error.operation_name)
    return error


def _requests(call: Call) -> Iterator[_Request]:
    members = call.members
    for table, part in members.get("RequestItems", {}).items():
        if isinstance(part, dict):
            yield from (_Request(table, key, False, {}) for key in part["Keys"])
            continue
        for write in part:
            ((action, content),) = write.items()
            yield _Request(table, content.get("Item") or content.get("Key"), action == "PutRequest", {})
    for action in members.get("TransactItems", ()):
        yield from map(_single, action.values())
    if "TableName" in members:
        yield _single(members)


def _single(members: Mapping[str, Any]) -> _Request:
    return _Request(members["TableName"], members.get("Item") or members.get("Key") or {}, "Item" in members, members)


def _fault(request: _Request, path: str, message: str) -> _Fault | None:
    """Programs may declare a table several times, with classes that are alike. The class that declares most of what the
    request names is asked first."""
    schemas = sorted(_schemas_of(request, path), key=lambda schema: _undeclared(schema, request))
    faults = (_fault_of(schema, request, message) for schema in schemas)
    return next((fault for fault in faults if fault is not None), None)


def _undeclared(schema: Schema[Any], request: _Request) -> int:
    """How many attributes the request names that the class does not declare."""
    named = {*request.row, *request.members.get("ExpressionAttributeNames", {}).values()}
    return len(named - schema.key_names - {field.attribute for field in schema.codec.by_name.values()})


def _fault_of(schema: Schema[Any], request: _Request, message: str) -> _Fault | None:
    for attribute, value in request.row.items():
        text = _unstorable(value, _Place(schema, attribute))
        if text is not None:
            return _Fault(text, attribute in schema.key_names)
    for attribute, value in request.row.items():
        text = _too_long(schema, attribute, value)
        if text is not None:
            return _Fault(text, is_key=True)
    if request.is_put:
        text = _too_large(schema, request.row)
        return None if text is None else _Fault(text)
    return _of_expressions(schema, request.members, message)


def _schemas_of(request: _Request, path: str) -> Iterator[Schema[Any]]:
    tables = Table.all_called(request.table)
    if request.row:
        yield from (found for table in tables if (found := table.schema_of(request.row)) is not None)
        return
    # A query is metered under its access path.
    name = path.partition(".")[0]
    yield from (schema for table in tables for schema in table.schemas if schema.name == name)


class _Place:
    """Where a value is, for errors: a field of a class, and the steps into it."""

    def __init__(self, schema: Schema[Any], attribute: str) -> None:
        self.schema = schema
        self.attribute = attribute

    def __str__(self) -> str:
        fields = [field.name for field in self.schema.codec.by_name.values() if field.attribute == self.attribute]
        if fields:
            return f"{self.schema.name}.{fields[0]}"
        for layout in (self.schema.primary, *self.schema.all_indexes):
            for part in layout.attributes:
                if part.name == self.attribute:
                    return f"{self.schema.name}.{layout.name}: {', '.join(part.held)}"
        return f"{self.schema.name}, attribute {self.attribute!r}"


def _unstorable(value: Value, place: _Place, depth: int = 1, inside: str = "") -> str | None:
    """Why no item can hold the value; None if one can."""
    where = f"{place}{inside}"
    if depth > NESTING_DEPTH:
        return f"{place}: has more than {NESTING_DEPTH} levels, one inside the other"
    ((tag, content),) = value.items()
    if tag == "S":
        return _half(where, content)
    if tag == "SS":
        return next((text for each in content if (text := _half(where, each)) is not None), None)
    if tag == "L":
        members = ((f"{inside}[{index}]", each) for index, each in enumerate(content))
    elif tag == "M":
        for name in content:
            text = _half(where, name) or _unusable_name(where, name)
            if text is not None:
                return text
        members = ((f"{inside}.{name}", each) for name, each in content.items())
    else:
        return None
    found = (_unstorable(each, place, depth + 1, step) for step, each in members)
    return next((text for text in found if text is not None), None)


def _half(where: str, text: str) -> str | None:
    found = _HALF.search(text)
    if found is None:
        return None
    shown = text[max(0, found.start() - _SHOWN // 2) : found.start() + _SHOWN // 2]
    return f"{where}: {shown!r} has half of a surrogate pair, which is not a character"


def _unusable_name(where: str, name: str) -> str | None:
    if not name:
        return f"{where}: the store has no empty names in a map"
    size = len(name.encode())
    return (
        f"{where}: {name[:_SHOWN]!r}… has {size:,} bytes, and a name at most {ATTRIBUTE_NAME_BYTES - 1:,}"
        if (size >= ATTRIBUTE_NAME_BYTES)
        else None
    )


def _too_long(schema: Schema[Any], attribute: str, value: Value) -> str | None:
    """Why a key attribute cannot have the value; None if it can."""
    for layout in (schema.primary, *schema.indexes.values()):
        for part in layout.attributes:
            if part.name == attribute and part.tag in value:
                limit = PARTITION_KEY_BYTES if part in layout.partitions else SORT_KEY_BYTES
                size = _size(value)
                if size > limit:
                    return _long_key(schema, layout, part, value, size, limit)
    return None


def _long_key(schema: Schema[Any], layout: KeyLayout, part: KeyAttribute, value: Value, size: int, limit: int) -> str:
    kind = "partition" if part in layout.partitions else "sort"
    held = part.parse(value) or dict.fromkeys(part.held, "")
    longest = max(held, key=lambda name: len(str(held[name])), default="")
    return (
        f"{schema.name}.{longest}: the {kind} key {part!r} of {schema.name}.{layout.name} would have {size:,} bytes, "
        f"and it can have {limit:,}"
    )


def _too_large(schema: Schema[Any], row: Row) -> str | None:
    size = sum(len(name.encode()) + _size(value) for name, value in row.items())
    if size <= ITEM_BYTES:
        return None
    largest = max(row, key=lambda name: _size(row[name]))
    return (
        f"{_Place(schema, largest)}: the item would have {size:,} bytes, and it can have {ITEM_BYTES:,}; "
        f"{_size(row[largest]):,} of them are in this field"
    )


def _size(value: Value) -> int:
    return value_size(to_dynamodb_json(value))


def _of_expressions(schema: Schema[Any], members: Mapping[str, Any], message: str) -> _Fault | None:
    names: Mapping[str, str] = members.get("ExpressionAttributeNames", {})
    for placeholder, value in members.get("ExpressionAttributeValues", {}).items():
        attribute = _attribute_beside(placeholder, members)
        text = _unstorable(value, _Place(schema, attribute))
        if text is not None:
            return _Fault(text, attribute in schema.key_names)
        text = _too_long(schema, attribute, value)
        if text is not None:
            return _Fault(text, is_key=True)
    if "UpdateExpression" in members and "size" in message:
        fields = [field.name for field in schema.codec.by_name.values() if field.attribute in names.values()]
        return _Fault(
            f"{schema.name}: the update of {', '.join(fields)} would make the item larger than {ITEM_BYTES:,} bytes"
        )
    return None


def _attribute_beside(placeholder: str, members: Mapping[str, Any]) -> str:
    """The attribute that an expression compares a value with, or sets to it."""
    names: Mapping[str, str] = members.get("ExpressionAttributeNames", {})
    for expression in _EXPRESSIONS:
        before, found, _ = f"{members.get(expression, '')} ".partition(f"{placeholder} ")
        if not found:
            before, found, _ = f"{members.get(expression, '')}".partition(placeholder)
        if found:
            path = re.findall(r"(?:#\w+(?:\[\d+\])*\.?)+", before)
            first = re.match(r"#\w+", path[-1]) if path else None
            if first is not None:
                return names.get(first[0], first[0])
    return ""

"""DynamoDB's messages for invalid values.

Messages are bare. The caller adds where the value stood, as in "ExpressionAttributeValues contains invalid value: …
for key :v".

A value that breaks a rule is a ValidationException. JSON of the wrong type, which is not an attribute value at all, is
a SerializationException in the words of DynamoDB's Java parser.
"""

from __future__ import annotations

from typing import Any, Final

from sortkey.errors import DynamoDBError, SerializationException, ValidationException

EMPTY: Final = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
SEVERAL_TYPES: Final = (
    "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
)
NULL_VALUE: Final = "The supplied Item contains a null AttributeValue"
TOO_DEEP: Final = (
    "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
)
UPDATED_TOO_DEEP: Final = "Nesting Levels have exceeded supported limits"
ITEM_TOO_LARGE: Final = "Item size has exceeded the maximum allowed size"
UPDATED_ITEM_TOO_LARGE: Final = "Item size to update has exceeded the maximum allowed size"
EMPTY_NAME: Final = "Empty attribute name"
NAME_TOO_LONG: Final = "Attribute name is too large, must be less than 65536 bytes"

NOT_A_NUMBER: Final = "The parameter cannot be converted to a numeric value"
TOO_MANY_DIGITS: Final = "Attempting to store more than 38 significant digits in a Number"
OVERFLOW: Final = "Number overflow. Attempting to store a number with magnitude larger than supported range"
UNDERFLOW: Final = "Number underflow. Attempting to store a number with magnitude smaller than supported range"

_INVALID: Final = "One or more parameter values were invalid: "
NULL_NOT_TRUE: Final = _INVALID + "Null attribute value types must have the value of true"
EMPTY_SET: Final = {
    "SS": _INVALID + "An string set  may not be empty",
    "NS": _INVALID + "An number set  may not be empty",
    "BS": _INVALID + "Binary sets should not be empty",
}
NULL_MEMBER: Final = {
    "SS": _INVALID + "An string set may not have a null string as a member",
    "NS": NOT_A_NUMBER,
    "BS": NULL_VALUE,
}

TEXT: Final = "class java.lang.String"
FLAG: Final = "class java.lang.Boolean"
BYTES: Final = "class java.nio.ByteBuffer"
VALUE: Final = "class com.amazonaws.dynamodb.v20120810.AttributeValue"
MAP: Final = "java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>"
LIST: Final = "java.util.List"

UNEXPECTED_TYPE: Final = "Unexpected field type"
UNEXPECTED_MAP: Final = "Start of structure or map found where not expected"
_SCALAR_REJECTED: Final = {
    BYTES: "only base-64-encoded strings are convertible to bytes",
    VALUE: "Unexpected value type in payload",
    MAP: UNEXPECTED_TYPE,
    LIST: UNEXPECTED_TYPE,
}


class InvalidRequest(ValidationException):
    """The request is invalid, whatever the table holds. To clients it is a ValidationException like any other."""

    def __init__(self, message: str, detected: str | None = None) -> None:
        """`detected` is the message of operations that report it in the service model's words, if it is another."""
        super().__init__(message)
        self.detected = f"1 validation error detected: {detected or message}"

    @property
    def code(self) -> str:
        return ValidationException.__name__


def not_a_number(text: str) -> ValidationException:
    return ValidationException(f"{NOT_A_NUMBER}: {text}" if text else NOT_A_NUMBER)


def null_attribute(name: str) -> ValidationException:
    return ValidationException(f"{NULL_VALUE}: {name} is null")


def not_a_value(content: Any) -> DynamoDBError:
    return ValidationException(NULL_VALUE) if content is None else wrong_type(VALUE, content)


def duplicates(tag: str, members: list[str | None]) -> ValidationException:
    """Each type of set has its own message; the missing blank before "of type" is DynamoDB's."""
    if tag == "NS":
        return InvalidRequest("Input collection contains duplicates")
    listed = ", ".join("null" if member is None else member for member in members)
    ending = "of type BS contains duplicates." if tag == "BS" else " contains duplicates."
    return InvalidRequest(f"{_INVALID}Input collection [{listed}]{ending}")


def wrong_type(expected: str, content: Any) -> SerializationException:
    """`expected` is one of the Java types above; `content` is what the JSON had in its place."""
    if isinstance(content, dict):
        return SerializationException(UNEXPECTED_MAP)
    if isinstance(content, list):
        return SerializationException(f"Unrecognized collection type {expected}")
    if expected in _SCALAR_REJECTED:
        return SerializationException(_SCALAR_REJECTED[expected])
    if isinstance(content, str):
        return SerializationException("Unexpected token received from parser")
    return SerializationException(f"{java_token(content)} cannot be converted to {expected.rpartition('.')[2]}")


def java_token(content: bool | int | float | str) -> str:
    """The name that DynamoDB's JSON parser has for a scalar."""
    if isinstance(content, bool):
        return "TRUE_VALUE" if content else "FALSE_VALUE"
    if isinstance(content, str):
        return "STRING_VALUE"
    return "DECIMAL_VALUE" if isinstance(content, float) else "NUMBER_VALUE"


def not_base64(text: str) -> SerializationException:
    if len(text) % 4:
        return SerializationException(f"Base64 encoded length is expected a multiple of 4 bytes but found: {len(text)}")
    return SerializationException("Invalid base64 text")


def not_unicode() -> SerializationException:
    return SerializationException("Half of a surrogate pair is not a character")

"""Shapes of AWS's service model: the base class of structures, and the types of members that several requests share.

A member's type has its bounds as `msgspec.Meta`, or is a `Literal` for an enumeration. msgspec checks them in C;
`members_of` reads the same annotations when a request is rejected and AWS's message is needed.

The words of a `Literal` are in the order of AWS's error messages where that is known, otherwise in that of the service
model. Maps of attribute values are dictionaries, which `values.attribute` checks. A title is the Java name of a type,
where Python's type does not determine it.
"""

from __future__ import annotations

import functools
import re
import types
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Final, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from sortkey import limits
from sortkey.errors import ValidationException

JAVA_PACKAGE = "com.amazonaws.dynamodb.v20120810"

INVALID: Final = "One or more parameter values were invalid: "
"""The beginning of many of AWS's messages."""

ACRONYMS = {
    "sse_specification": "SSESpecification",
    "sse_specification_override": "SSESpecificationOverride",
    "sse_type": "SSEType",
    "kms_master_key_id": "KMSMasterKeyId",
}


def member_name(field: str) -> str:
    """AWS's name of a field: `table_name` is `TableName`."""
    return ACRONYMS.get(field) or "".join(word.capitalize() for word in field.split("_"))


# Requests have no cycles, so the garbage collector need not track them; that saves up to a third of their cost.
class Shape(msgspec.Struct, kw_only=True, gc=False, rename=member_name):
    """A structure of the service model, its fields in the model's order: the order in which errors are reported."""

    stops_at_first: ClassVar[bool] = False
    """Whether the first violation of a bound is reported alone."""


def anchored(pattern: str) -> str:
    """AWS's pattern, for the whole text: msgspec searches, and `$` would let a trailing line break pass."""
    return rf"\A{pattern}\Z"


def shown_pattern(meta: Meta) -> str | None:
    """The pattern as AWS writes it."""
    if meta.pattern is None:
        return None
    written: str | None = (meta.extra or {}).get(AWS_PATTERN)
    return written or meta.pattern.removeprefix(r"\A").removesuffix(r"\Z")


NAME_PATTERN = "[a-zA-Z0-9_.-]+"
NAME_LENGTHS = (3, 255)
_NAME = re.compile(NAME_PATTERN)
_ARN = re.compile(r"arn:[^:]*:dynamodb:[^:]*:[^:]*:table/([^/:]+)")

PARAMETER_REQUIRED = "parameter required"
"""Marks a member whose absence is reported before all other constraints, with a message of its own."""

VALUE_HIDDEN: Final = {"value hidden": True}
"""Marks a member whose violations show its name as the model spells it, and no value: those of SearchVectors, and what
Query and BatchGetItem bound."""

EMPTY_IS_ABSENT: Final = "empty is absent"
"""Marks a map of which AWS says that it is required, if it is empty."""

AWS_PATTERN: Final = "AWS's pattern"
"""Has AWS's pattern where ours is another one for the same texts, because a long text can take hours by AWS's."""

NAMES_TABLE = "names a table"
"""Marks a table's name or ARN: the model bounds only its length, and `table_name_of` checks the name."""

TableName = Annotated[str, Meta(min_length=1, max_length=1024, extra={NAMES_TABLE: True})]
TableParameter = Annotated[
    str, Meta(min_length=1, max_length=1024, extra={NAMES_TABLE: True, PARAMETER_REQUIRED: True})
]
StrictTableName = Annotated[str, Meta(min_length=3, max_length=255, pattern=anchored(NAME_PATTERN))]
IndexName = Annotated[str, Meta(min_length=3, max_length=255, pattern=anchored(NAME_PATTERN))]
ResourceArn = Annotated[str, Meta(min_length=1, max_length=1283)]
BackupArn = Annotated[str, Meta(min_length=37, max_length=1024)]
TableArn = Annotated[str, Meta(min_length=1, max_length=1024)]

AttributeMap = dict[str, Any]
AttributeValue = Annotated[dict[str, Any], Meta(title="AttributeValue")]
AttributeName = Annotated[str, Meta(max_length=limits.ATTRIBUTE_NAME_BYTES - 1)]
AttributeNames = Annotated[list[AttributeName], Meta(min_length=1)]
KeyAttributeName = Annotated[str, Meta(min_length=1, max_length=limits.KEY_ATTRIBUTE_NAME_BYTES)]
NameBindings = dict[str, AttributeName]

INTEGER_RANGE = (-(2**31), 2**31 - 1)
LONG_RANGE = (-(2**63), 2**63 - 1)
"""What Java's types hold. Every number of a request is bounded at least by them, so that none is too large to store or
to send. `aws_deserialiser` rejects what lies outside; bounds inside are for `constraints`."""

PositiveInteger = Annotated[int, Meta(ge=1, le=INTEGER_RANGE[1])]
PositiveLong = Annotated[int, Meta(ge=1, le=LONG_RANGE[1], title="Long")]
Long = Annotated[int, Meta(ge=LONG_RANGE[0], le=LONG_RANGE[1], title="Long")]
Timestamp = float
"""Seconds since the epoch."""

ReturnConsumedCapacity = Literal["INDEXES", "TOTAL", "NONE"]
ReturnItemCollectionMetrics = Literal["SIZE", "NONE"]
ReturnValues = Literal["ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW"]
ReturnValuesOnConditionCheckFailure = Literal["ALL_OLD", "NONE"]
ConditionalOperator = Literal["OR", "AND"]
ComparisonOperator = Literal[
    "IN",
    "NULL",
    "BETWEEN",
    "LT",
    "NOT_CONTAINS",
    "EQ",
    "GT",
    "NOT_NULL",
    "NE",
    "LE",
    "BEGINS_WITH",
    "GE",
    "CONTAINS",
]


NO_BOUNDS = Meta()


class InvalidTableName(ValidationException):
    """A name that no table can have. The message is that of the member `TableName` of a request; see
    `constraints.check_names` for names elsewhere in a request."""

    @property
    def code(self) -> str:
        return ValidationException.__name__


@functools.lru_cache(maxsize=4096)
def table_name_of(text: str) -> str:
    """The table name in a name or an ARN; raises InvalidTableName."""
    broken = broken_name(text)
    if broken:
        raise InvalidTableName(detected([violation(text, "tableName", constraint) for constraint in broken]))
    return _name_in(text)


def _name_in(text: str) -> str:
    arn = _ARN.fullmatch(text)
    return arn[1] if arn else text


def broken_name(text: str) -> list[str]:
    """The constraints of table names that the name, or the name in the ARN, violates, in AWS's order."""
    name, broken = _name_in(text), []
    if not _NAME.fullmatch(name):
        broken.append(f"Member must satisfy regular expression pattern: {NAME_PATTERN}")
    if len(name) < NAME_LENGTHS[0]:
        broken.append(f"Member must have length greater than or equal to {NAME_LENGTHS[0]}")
    if len(name) > NAME_LENGTHS[1]:
        broken.append(f"Member must have length less than or equal to {NAME_LENGTHS[1]}")
    return broken


def violation(rendered: str | None, path: str, constraint: str) -> str:
    shown = "null" if rendered is None else f"'{rendered}'"
    return f"Value {shown} at '{path}' failed to satisfy constraint: {constraint}"


def detected(violations: Sequence[str]) -> str:
    """AWS's message for a request that violates constraints of the service model."""
    plural = "" if len(violations) == 1 else "s"
    return f"{len(violations)} validation error{plural} detected: {'; '.join(violations)}"


class MemberType(NamedTuple):
    """One declared type: `base` is str, int, float, bool, list, dict, a `Shape`, or Any if it is checked elsewhere."""

    base: Any
    meta: Meta = NO_BOUNDS
    words: tuple[str, ...] = ()
    """The allowed values of a string, in the order of AWS's messages."""
    inner: tuple[MemberType, ...] = ()
    """The type of a list's elements, or those of a map's keys and values."""

    @property
    def is_structure(self) -> bool:
        return isinstance(self.base, type) and issubclass(self.base, Shape)


class Member(NamedTuple):
    name: str
    type: MemberType
    required: bool

    @property
    def path(self) -> str:
        """The name as AWS's messages spell it: `TableName` is `tableName`."""
        return self.name[0].lower() + self.name[1:]


@functools.cache
def members_of(shape: type[Shape]) -> dict[str, Member]:
    """The members of a structure by AWS's names, in the order of the service model."""
    hints = get_type_hints(shape, include_extras=True)
    return {
        field.encode_name: Member(field.encode_name, member_type_of(hints[field.name]), field.required)
        for field in msgspec.structs.fields(shape)
    }


def member_type_of(annotation: Any, meta: Meta = NO_BOUNDS) -> MemberType:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return member_type_of(next(argument for argument in arguments if argument is not types.NoneType))
    if origin is Annotated:
        return member_type_of(arguments[0], arguments[1])
    if origin is Literal:
        return MemberType(str, meta, words=arguments)
    if origin in (list, Sequence):
        return MemberType(list, meta, inner=(member_type_of(arguments[0]),))
    if origin is dict:
        return MemberType(dict, meta, inner=(member_type_of(arguments[0]), member_type_of(arguments[1])))
    return MemberType(annotation, meta)

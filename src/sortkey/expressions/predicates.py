"""The functions that are conditions: attribute_exists, attribute_not_exists, attribute_type, begins_with, contains."""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from sortkey.expressions import errors
from sortkey.expressions.bindings import Bindings
from sortkey.expressions.compilation import Compilation
from sortkey.expressions.errors import InvalidExpression
from sortkey.expressions.operands import CompiledOperand, Getter
from sortkey.values.attribute import PREFIX_TYPES, AttributeValue, Item, type_of

Test = Callable[[Item, Bindings], bool]

# In the order of DynamoDB's messages.
_TYPES: Final = ("N", "BS", "L", "B", "NULL", "M", "S", "SS", "NS", "BOOL")
_ANY_TYPE: Final = "{HD,DICT,INT,SS,BS,S,INTSET,FLOAT,HDS,NS,BOOL,B,N,DOUBLESET,DECIMALSET,L,M,DOUBLE,FS,DECIMAL,NULL}"
_TEXT: Final = frozenset({"S"})

_GROUP: Final = 4
"""Letters of base64 for three bytes."""

_ELEMENT_TYPES: Final = {"SS": "S", "NS": "N", "BS": "B"}


class Predicate(NamedTuple):
    operands: int
    compile: Callable[[Sequence[CompiledOperand], Compilation], Test]


def _attribute_exists(arguments: Sequence[CompiledOperand], _compilation: Compilation) -> Test:
    get = _require_path("attribute_exists", arguments[0])
    return lambda item, bindings: get(item, bindings) is not None


def _attribute_not_exists(arguments: Sequence[CompiledOperand], _compilation: Compilation) -> Test:
    get = _require_path("attribute_not_exists", arguments[0])
    return lambda item, bindings: get(item, bindings) is None


def _require_path(function: str, operand: CompiledOperand) -> Getter:
    if operand.path is None:
        raise errors.not_a_path(function)
    return operand.get


def _attribute_type(arguments: Sequence[CompiledOperand], compilation: Compilation) -> Test:
    operand, wanted = arguments
    if wanted.value is None:
        raise errors.operand_type("attribute_type", wanted.type or _ANY_TYPE)
    compilation.require_type(wanted.value, _TEXT, "attribute_type")
    placeholder, get = wanted.value.placeholder, operand.get
    compilation.checks.append(lambda bindings: _check_type_name(bindings.values[placeholder]["S"]))

    def has_type(item: Item, bindings: Bindings) -> bool:
        value = get(item, bindings)
        return value is not None and bindings.values[placeholder]["S"] in value

    return has_type


def _check_type_name(tag: str) -> None:
    if tag not in _TYPES:
        raise InvalidExpression(f"Invalid attribute type name found; type: {tag}, valid types: {{{','.join(_TYPES)}}}")


def _begins_with(arguments: Sequence[CompiledOperand], compilation: Compilation) -> Test:
    for operand in arguments:
        operand.require_type(compilation, PREFIX_TYPES, "begins_with")
    whole, start = arguments[0].get, arguments[1].get

    def begins_with(item: Item, bindings: Bindings) -> bool:
        value, prefix = whole(item, bindings), start(item, bindings)
        if value is None or prefix is None:
            return False
        if "S" in value and "S" in prefix:
            text: str = value["S"]
            return text.startswith(prefix["S"])
        if "B" in value and "B" in prefix:
            return _begins_with_binary(value["B"], prefix["B"])
        return False

    return begins_with


def _begins_with_binary(text: str, prefix: str) -> bool:
    """Whole groups of three bytes are compared as text; only the last group is decoded."""
    whole = max(len(prefix) // _GROUP - 1, 0) * _GROUP
    last = slice(whole, whole + _GROUP)
    return text[:whole] == prefix[:whole] and a2b_base64(text[last]).startswith(a2b_base64(prefix[last]))


def _contains(arguments: Sequence[CompiledOperand], _compilation: Compilation) -> Test:
    container, part = arguments
    raw_container, raw_part = _raw(container), _raw(part)

    def contains(item: Item, bindings: Bindings) -> bool:
        whole, wanted = container.get(item, bindings), part.get(item, bindings)
        if whole is None or wanted is None:
            return False
        if "B" in whole and "B" in wanted:
            return raw_part(wanted, bindings) in raw_container(whole, bindings)
        return _holds(whole, wanted)

    return contains


def _raw(operand: CompiledOperand) -> Callable[[AttributeValue, Bindings], bytes]:
    """Decodes the operand's binary. A request's value is decoded once; an item's, once while it is evaluated."""
    if operand.value is None:
        return lambda value, _bindings: _decoded(value["B"])
    placeholder = operand.value.placeholder
    return lambda _value, bindings: bindings.raw(placeholder)


_decoded = lru_cache(maxsize=8)(a2b_base64)
"""Few: the same object is looked up again and again, which compares no bytes, while one item is evaluated."""


def _holds(whole: AttributeValue, wanted: AttributeValue) -> bool:
    tag, wanted_tag = type_of(whole), type_of(wanted)
    content, sought = whole[tag], wanted[wanted_tag]
    if tag == "L":
        return wanted in content
    if tag in _ELEMENT_TYPES:
        return wanted_tag == _ELEMENT_TYPES[tag] and sought in content
    return tag == wanted_tag == "S" and sought in content


PREDICATES: Final = {
    "attribute_exists": Predicate(1, _attribute_exists),
    "attribute_not_exists": Predicate(1, _attribute_not_exists),
    "attribute_type": Predicate(2, _attribute_type),
    "begins_with": Predicate(2, _begins_with),
    "contains": Predicate(2, _contains),
}

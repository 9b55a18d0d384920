"""Attribute values in DynamoDB JSON, `{"S": "x"}`, and the one walk that makes them canonical.

Canonical means: one type per value, numbers in their canonical text (see `number`), base64 without slack bits,
sets sorted. Equal values are then equal JSON. The walk validates, canonicalises and measures at once, because
every write pays for it. A canonical value is returned as the same object; any other is copied, never changed in place.
"""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from sortkey.errors import ValidationException
from sortkey.limits import ATTRIBUTE_NAME_BYTES, EXPRESSION_VALUES_BYTES, ITEM_BYTES, NESTING_DEPTH
from sortkey.values import errors, number, size

AttributeValue = dict[str, Any]
Item = dict[str, AttributeValue]

ORDERED_TYPES: Final = frozenset({"S", "N", "B"})
"""Types whose values have an order; also the types of key attributes."""
PREFIX_TYPES: Final = frozenset({"S", "B"})
"""Types whose values can begin with, or contain, another value of the type."""
COMPARED_LETTERS: Final = 4096
"""Of base64, compared at a time; a multiple of four, so that each piece can be decoded by itself."""
FEWEST_NUMBERS: Final = 16
"""A shorter list is not tried as a vector."""
SET_TYPES: Final = frozenset({"SS", "NS", "BS"})


class TooLarge(ValidationException):
    """The value has more bytes than allowed. To clients it is a ValidationException like any other."""

    @property
    def code(self) -> str:
        return ValidationException.__name__


class Normalised(NamedTuple):
    item: Item
    size: int
    """Bytes, as DynamoDB counts them."""
    binary: bool
    """Whether there is a B or BS anywhere inside."""


def normalise_item(item: Item, too_deep: str = errors.TOO_DEEP, too_large: str = errors.ITEM_TOO_LARGE) -> Normalised:
    """Updates have their own messages for an item with too many levels, and for one that is too large.

    The walk ends as soon as there are more elements than the largest item can have. Callers check the size.
    """
    if len(item) > ITEM_BYTES:
        raise TooLarge(too_large)
    walk = _Walk(ITEM_BYTES, 1, too_deep, too_large)
    try:
        walked = walk.members(item)
    except UnicodeEncodeError:
        raise errors.not_unicode() from None
    return Normalised(walked, walk.size, walk.binary)


def normalise_value(value: Any) -> AttributeValue:
    return measure_value(value)[0]


def measure_value(value: Any) -> tuple[AttributeValue, int]:
    """The canonical value of an expression, and its size. Raises TooLarge if it has surely more bytes than allowed."""
    walk = _Walk(EXPRESSION_VALUES_BYTES, depth=0)
    try:
        return walk.value(value), walk.size
    except UnicodeEncodeError:
        raise errors.not_unicode() from None


def canonical_scalar_size(value: Any) -> int | None:
    """The size of a string or a number that is already canonical; most are, which saves a walk. None for others."""
    if type(value) is not dict or len(value) != 1:
        return None
    ((tag, content),) = value.items()
    if type(content) is not str:
        return None
    canonical = content.isascii() if tag == "S" else tag == "N" and number.canonical(content) is content
    return len(content) if canonical else None


class _Walk:
    """One pass over one item. Each method takes the content of a value and returns it in canonical form."""

    __slots__ = ("_most", "_too_deep", "_too_large", "binary", "depth", "size")

    def __init__(
        self, most: int, depth: int = 1, too_deep: str = errors.TOO_DEEP, too_large: str = errors.ITEM_TOO_LARGE
    ) -> None:
        self._most = most
        self._too_large = too_large
        self.size = 0
        self.binary = False
        self.depth = depth
        """The item itself is the first level that DynamoDB counts; a single value starts at zero."""
        self._too_deep = too_deep

    def members(self, members: Item) -> Item:
        copy: Item | None = None
        # Short names are checked and measured all at once, which saves a quarter of the bytecode of this loop.
        names = "".join(members)
        short = names.isascii() and len(names) < ATTRIBUTE_NAME_BYTES and "" not in members
        text_bytes = len(names) if short else 0
        for name, value in members.items():
            if not short:
                text_bytes += _name_size(name)
            # Most are strings, plain numbers and flags. Without a call of `value`, a third of the time is saved.
            if type(value) is dict and len(value) == 1:
                if type(text := value.get("S")) is str:
                    text_bytes += len(text) if text.isascii() else len(text.encode())
                    continue
                if type(text := value.get("N")) is str and (plain := number.plain_size(text)):
                    text_bytes += plain
                    continue
                if type(value.get("BOOL")) is bool:
                    text_bytes += size.FLAG
                    continue
            if value is None:
                raise errors.null_attribute(name)
            walked = self.value(value)
            if walked is not value:
                copy = copy or dict(members)
                copy[name] = walked
        self.size += text_bytes
        return copy or members

    def value(self, value: Any) -> AttributeValue:
        if not isinstance(value, dict):
            raise errors.not_a_value(value)
        single: AttributeValue = value if len(value) == 1 else self.only_member(value)
        ((tag, content),) = single.items()
        if content is None or tag not in _WALKERS:
            raise ValidationException(errors.EMPTY)
        walked = _WALKERS[tag](self, content)
        return single if walked is content else {tag: walked}

    def only_member(self, value: AttributeValue) -> AttributeValue:
        """DynamoDB ignores nulls and unknown types. If two types are left, errors inside either come first."""
        present = {tag: value[tag] for tag in _WALKERS if value.get(tag) is not None}
        if not present:
            raise ValidationException(errors.EMPTY)
        if len(present) > 1:
            for tag, content in present.items():
                _WALKERS[tag](self, content)
            raise ValidationException(errors.SEVERAL_TYPES)
        return present

    def text(self, content: Any) -> str:
        if not isinstance(content, str):
            raise errors.wrong_type(errors.TEXT, content)
        self.size += size.text_size(content)
        return content

    def number(self, content: Any) -> str:
        if not isinstance(content, str):
            raise errors.wrong_type(errors.TEXT, content)
        if plain := number.plain_size(content):
            self.size += plain
            return content
        text = number.canonical(content)
        self.size += number.size(text)
        return text

    def bytes(self, content: Any) -> str:
        if not isinstance(content, str):
            raise errors.wrong_type(errors.BYTES, content)
        try:
            raw = a2b_base64(content, strict_mode=True)
        except ValueError:
            raise errors.not_base64(content) from None
        self.binary = True
        self.size += len(raw)
        text = b2a_base64(raw, newline=False).decode()
        return content if text == content else text

    def flag(self, content: Any) -> bool:
        if not isinstance(content, bool):
            raise errors.wrong_type(errors.FLAG, content)
        self.size += size.FLAG
        return content

    def null(self, content: Any) -> bool:
        if not self.flag(content):
            raise errors.InvalidRequest(errors.NULL_NOT_TRUE)
        return True

    def list(self, content: Any) -> Any:
        if not isinstance(content, list):
            raise errors.wrong_type(errors.LIST, content)
        self.enter(len(content))
        if len(content) >= FEWEST_NUMBERS and (numbers := _numbers_size(content)):
            self.size += numbers
            self.depth -= 1
            return content
        copy: Any = None
        for index, value in enumerate(content):
            walked = self.value(value)
            if walked is not value:
                copy = copy or content.copy()
                copy[index] = walked
        self.depth -= 1
        return copy or content

    def map(self, content: Any) -> Item:
        if not isinstance(content, dict):
            raise errors.wrong_type(errors.MAP, content)
        self.enter(len(content))
        walked = self.members(content)
        self.depth -= 1
        return walked

    def enter(self, elements: int) -> None:
        self.depth += 1
        if self.depth > NESTING_DEPTH:
            raise ValidationException(self._too_deep)
        self.size += size.CONTAINER + size.ELEMENT * elements
        if self.size > self._most:
            raise TooLarge(self._too_large)

    def expect(self, elements: int) -> None:
        """Each element has a byte or more, so many of them need not be looked at."""
        if elements > self._most:
            raise TooLarge(self._too_large)

    def strings(self, content: Any) -> Any:
        return self.sorted_set("SS", content, self.text, str)

    def numbers(self, content: Any) -> Any:
        return self.sorted_set("NS", content, self.number, number.sort_bytes)

    def binaries(self, content: Any) -> Any:
        return self.sorted_set("BS", content, self.bytes, a2b_base64)

    def sorted_set(self, tag: str, content: Any, member: Callable[[Any], str], order: Callable[[str], Any]) -> Any:
        """The members in order, so that equal sets are equal JSON."""
        if not isinstance(content, list):
            raise errors.wrong_type(errors.LIST, content)
        if not content:
            raise errors.InvalidRequest(errors.EMPTY_SET[tag])
        self.expect(len(content))
        seen: set[str] = set()
        for each in content:
            if each is None:
                continue
            walked = member(each)
            if walked in seen:
                _check_all_text(tag, content)
                raise errors.duplicates(tag, content)
            seen.add(walked)
        if None in content:
            raise ValidationException(errors.NULL_MEMBER[tag])
        ordered = sorted(seen, key=order)
        return content if ordered == content else ordered


def _numbers_size(elements: list[Any]) -> int:
    """The size of a list's elements, if they look like the components of a vector: many, and all of them canonical
    numbers. 0 for any other list, which callers look at one by one."""
    first = elements[0]
    # Most other lists differ here already.
    if type(first) is not dict or type(text := first.get("N")) is not str or not number.total_size([text]):
        return 0
    if set(map(type, elements)) != {dict} or set(map(len, elements)) != {1}:
        return 0
    try:
        return number.total_size([element["N"] for element in elements])
    except (KeyError, TypeError):
        return 0


def _name_size(name: str) -> int:
    size = len(name) if name.isascii() else len(name.encode())
    if not 0 < size < ATTRIBUTE_NAME_BYTES:
        raise ValidationException(errors.NAME_TOO_LONG if name else errors.EMPTY_NAME)
    return size


def _check_all_text(tag: str, members: list[Any]) -> None:
    """A member of the wrong type is reported before a duplicate, wherever it stands."""
    for each in members:
        if each is not None and not isinstance(each, str):
            raise errors.wrong_type(errors.BYTES if tag == "BS" else errors.TEXT, each)


# In the order in which DynamoDB checks a value that has several types.
_WALKERS: Final[Mapping[str, Callable[[_Walk, Any], Any]]] = {
    "S": _Walk.text,
    "SS": _Walk.strings,
    "N": _Walk.number,
    "NS": _Walk.numbers,
    "B": _Walk.bytes,
    "BS": _Walk.binaries,
    "BOOL": _Walk.flag,
    "NULL": _Walk.null,
    "L": _Walk.list,
    "M": _Walk.map,
}


def type_of(value: AttributeValue) -> str:
    return next(iter(value))


def holds_binary(item: Item) -> bool:
    """Whether a canonical item has a B or BS anywhere inside."""
    return any(map(_is_binary, item.values()))


def _is_binary(value: AttributeValue) -> bool:
    ((tag, content),) = value.items()
    if tag == "M":
        return holds_binary(content)
    if tag == "L":
        return any(map(_is_binary, content))
    return tag in ("B", "BS")


def equal(a: AttributeValue, b: AttributeValue) -> bool:
    """Whether two values are equal: sets in any order, numbers by value."""
    if a == b:
        return True
    tag = type_of(a)
    if tag != type_of(b):
        return False
    left, right = a[tag], b[tag]
    match tag:
        case "N":
            return number.canonical(left) == number.canonical(right)
        case "NS":
            return set(map(number.canonical, left)) == set(map(number.canonical, right))
        case "SS" | "BS":
            return set(left) == set(right)
        case "L":
            return len(left) == len(right) and all(map(equal, left, right))
        case "M":
            return left.keys() == right.keys() and all(equal(value, right[name]) for name, value in left.items())
    return False


def compare(a: AttributeValue, b: AttributeValue) -> int | None:
    """-1, 0 or 1 for two strings, two numbers or two binaries; None for other pairs, which have no order."""
    tag = type_of(a)
    if tag != type_of(b):
        return None
    left, right = a[tag], b[tag]
    if tag == "N":
        return number.compare(left, right)
    if tag == "B":
        return _order_of_binaries(left, right)
    if tag == "S":
        # Python orders text by code point, which is the order of its UTF-8 bytes, which is DynamoDB's.
        return _order(left, right)
    return None


def _order_of_binaries(left: str, right: str) -> int:
    """Decodes only where the texts first differ. Base64 keeps equality, but not order."""
    for start in range(0, max(len(left), len(right)), COMPARED_LETTERS):
        one, two = left[start : start + COMPARED_LETTERS], right[start : start + COMPARED_LETTERS]
        if one != two:
            return _order(a2b_base64(one), a2b_base64(two))
    return 0


def _order(left: Any, right: Any) -> int:
    return int(left > right) - int(left < right)

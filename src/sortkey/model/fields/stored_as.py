"""Codecs of the program's own: a type that Sortkey does not know, stored as one that it does.

    Amount = Annotated[Money, sk.stored_as(str, encode=Money.text, decode=Money.parse)]     one field, or an alias
    sk.codec(Money, str, encode=Money.text, decode=Money.parse)                             every field of the type

The field is stored as the other type, and everything else follows from that: conditions and ranges compare what is
stored, `.add` adds stored numbers, and a key can contain the field if it can contain the other type. A stored value
must be the one that `encode` makes of what `decode` makes of it.

A table that two programs write may have a field in several forms. Then `also=` names the others:

    at: Annotated[datetime, sk.stored_as(datetime, also=[sk.seconds, sk.epoch])]

Reading accepts all of them, and writing writes the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from sortkey.model.errors import DeclarationError, EncodeError, shown

T = TypeVar("T")
S = TypeVar("S")


class StoredAs:
    """The mark in `Annotated[Money, sk.stored_as(…)]`."""

    __slots__ = ("also", "decode", "encode", "is_strict", "stored")

    def __init__(
        self,
        stored: Any,
        encode: Callable[[Any], Any],
        decode: Callable[[Any], Any],
        also: Sequence[Any] = (),
        *,
        is_strict: bool = False,
    ) -> None:
        """`is_strict` if `decode` itself rejects what `encode` would not make."""
        for name, function in (("encode", encode), ("decode", decode)):
            if not callable(function):
                raise DeclarationError(f"sk.stored_as: {name} must be a function, not {function!r}")
        self.stored = stored
        self.encode = encode
        self.decode = decode
        self.also = tuple(also)
        self.is_strict = is_strict

    def __repr__(self) -> str:
        return f"stored_as({getattr(self.stored, '__name__', self.stored)})"


class StoredType(NamedTuple):
    """A type and its codec, where another field has a type alone."""

    declared: Any
    codec: StoredAs

    def __str__(self) -> str:
        return f"{getattr(self.declared, '__name__', self.declared)}, {self.codec!r}"

    def encode(self, value: Any) -> Any:
        """The value to store. Raises EncodeError for one of another type, and for what the function raises."""
        # `Any` is a class, but nothing can be tested for it.
        if self.declared is not Any and isinstance(self.declared, type) and not isinstance(value, self.declared):
            raise EncodeError(f"expected {self.declared.__name__}, got {type(value).__name__} {shown(value)}")
        try:
            return self.codec.encode(value)
        except Exception as error:
            # The function is the program's, and may raise anything.
            raise EncodeError(f"cannot encode {shown(value)}: {type(error).__name__}: {error}") from error

    def decode(self, stored: Any) -> Any:
        """The value of a stored one. Raises ValueError for what the function raises."""
        try:
            return self.codec.decode(stored)
        except Exception as error:
            raise ValueError(f"cannot decode {stored!r}: {type(error).__name__}: {error}") from error


_registered: Final[dict[Any, StoredAs]] = {}


def stored_as(
    stored: Any,
    *,
    encode: Callable[[Any], Any] | None = None,
    decode: Callable[[Any], Any] | None = None,
    also: Any = (),
) -> StoredAs:
    """The codec of one field: `Annotated[Money, sk.stored_as(str, encode=Money.text, decode=Money.parse)]`. `encode`
    makes a value of the type `stored`, `decode` takes one; without them, the field has the type itself.

    `also` has other forms that the field is read in, one or a list: types, `sk.epoch`, `sk.seconds`, other
    `sk.stored_as`. Then only equality can be compared, and no key can contain the field."""
    if (encode is None) != (decode is None):
        raise DeclarationError("sk.stored_as: give encode and decode, or neither")
    forms = also if isinstance(also, list | tuple) else (also,)
    if encode is None or decode is None:
        if not forms:
            raise DeclarationError("sk.stored_as: give encode and decode, or other forms with also=")
        return StoredAs(stored, _same, _same, forms, is_strict=True)
    return StoredAs(stored, encode, decode, forms)


def _same(value: Any) -> Any:
    return value


def codec(cls: type[T], stored: type[S], *, encode: Callable[[T], S], decode: Callable[[S], T]) -> None:
    """Store every field of a class of your own as another type. Call it before the first item class that has such a
    field; a field's own `sk.stored_as` goes before it."""
    if not isinstance(cls, type):
        raise DeclarationError(f"sk.codec: {cls!r} is not a class")
    if cls.__module__ == "builtins":
        raise DeclarationError(f"sk.codec: {cls.__name__} is not a class of your own; use sk.stored_as for one field")
    if cls in _registered:
        raise DeclarationError(f"sk.codec: {cls.__name__} has a codec already")
    _registered[cls] = StoredAs(stored, encode, decode)


def registered_codec(base: Any) -> StoredAs | None:
    """The codec of a type that `codec` was called with."""
    return _registered.get(base) if isinstance(base, type) else None

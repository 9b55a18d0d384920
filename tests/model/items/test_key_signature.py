"""Keys with a signature are keys like others; a signature that is not true of the key is rejected at import."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from typing import Annotated, Any

import pytest

import sortkey as sk
from sortkey.model.items.key import BoundKey


class Visit(sk.Item, table="signature-visits"):
    user: str
    day: date
    page: int
    city: str | None = None

    @sk.Key("USER#{user}", "DAY#{day}#{page:06}", names=("p", "s"))
    def key(self, *, user: str, day: date = ..., page: int = ...) -> None: ...

    @sk.Index("gsi1", "CITY#{city}", "{day}", projection="KEYS_ONLY")
    def by_city(self, *, city: str, day: date = ...) -> None: ...

    unsigned = sk.Index("gsi2", "DAY#{day}", "{page}")


DAY = date(2026, 8, 24)


def test_a_key_with_a_signature_is_a_key() -> None:
    visit = Visit(user="ada", day=DAY, page=1, city="Rome")
    assert Visit.key(user="ada", day=DAY, page=1) == visit.key
    assert visit.key.key() == {"p": {"S": "USER#ada"}, "s": {"S": "DAY#2026-08-24#000001"}}
    assert visit.by_city == Visit.by_city(city="Rome", day=DAY)
    assert {type(each) for each in (Visit.key, Visit.by_city, Visit.unsigned)} == {BoundKey}


class Code:
    def __init__(self, text: str) -> None:
        self.text = text


class Coupon(sk.Item, table="signature-coupons"):
    code: Annotated[Code, sk.stored_as(str, encode=lambda code: code.text, decode=Code)]
    at: Annotated[datetime, sk.epoch]

    @sk.Key("COUPON#{code}", "{at}")
    def key(self, *, code: Code, at: datetime = ...) -> None: ...


# What a field is stored as is no matter of the signature.
def test_a_signature_has_the_types_of_values() -> None:
    assert Coupon.key(code=Code("x")).equal == {"pk": {"S": "COUPON#x"}}


def declare(signature: Callable[..., None], field: Any = int) -> type[sk.Item]:
    """A class with this signature for its key."""
    key: Any = sk.Key("TENANT#{tenant}", "{number:06}#{city}")
    namespace = {
        "__annotations__": {"tenant": str, "number": field, "city": str},
        "__module__": __name__,
        "key": key(signature),
    }
    metaclass: Any = type(sk.Item)
    made: type[sk.Item] = metaclass("Wrong", (sk.Item,), namespace, table=sk.Table("signature-wrong"))
    return made


def right(self: Any, *, tenant: str, number: int = ..., city: str = ...) -> None: ...
def complete(self: Any, *, city: str, number: int, tenant: str) -> None: ...
def misspelt(self: Any, *, tennant: str, number: int, city: str) -> None: ...
def short(self: Any, *, tenant: str, number: int = ...) -> None: ...
def partial_partition(self: Any, *, tenant: str = ..., number: int, city: str) -> None: ...
def gap(self: Any, *, tenant: str, number: int = ..., city: str) -> None: ...
def other_type(self: Any, *, tenant: str, number: str, city: str) -> None: ...
def optional(self: Any, *, tenant: str, number: int | None, city: str) -> None: ...
def undefined(self: Any, *, tenant: str, number: Missing, city: str) -> None: ...  # type: ignore[name-defined]  # noqa: F821
def untyped(self, *, tenant: str, number, city: str) -> None: ...  # type: ignore[no-untyped-def]
def positional(self: Any, tenant: str, number: int, city: str) -> None: ...
def valued(self: Any, *, tenant: str, number: int = 3, city: str = ...) -> None: ...
def selfless(*, tenant: str, number: int, city: str) -> None: ...


@pytest.mark.parametrize("signature", [right, complete])
def test_the_sort_key_may_be_optional_or_not(signature: Callable[..., None]) -> None:
    declare(signature)


@pytest.mark.parametrize(
    ("signature", "message"),
    [
        (misspelt, r"Wrong\.key: the key has no field 'tennant'; did you mean 'tenant'\?"),
        (short, r"Wrong\.key: the signature lacks city"),
        (partial_partition, r"Wrong\.key: tenant is in the partition key, so it cannot be left out; remove = \.\.\."),
        (gap, r"Wrong\.key: number may be left out, so city, which comes after it, needs = \.\.\., too"),
        (other_type, r"Wrong\.key: number is str in the signature and int in the class"),
        (optional, r"Wrong\.key: number is int \| None in the signature, but a key has no None"),
        (undefined, r"Wrong\.key: the type of number, Missing, is not defined"),
        (untyped, r"Wrong\.key: number needs a type in the signature"),
        (positional, r"keys take fields by name, so tenant must come after \*, such as: def key\(self, \*, "),
        (valued, r"a key has no defaults; if number may be left out, write = \.\.\."),
        (selfless, r"the signature of a key begins with self, such as: def key\(self, \*, "),
        (staticmethod(right), r"@sk\.Key and @sk\.Index take a function, such as: .* They cannot take <static"),
    ],
)
def test_a_signature_that_is_not_true_is_rejected(signature: Any, message: str) -> None:
    with pytest.raises(sk.DeclarationError, match=message):
        declare(signature)


def test_a_collection_takes_fields_by_name() -> None:
    path = sk.collection(Visit.key, user="ada")
    assert repr(path) == "collection(Visit.key, user='ada')"
    with pytest.raises(TypeError, match=r"a collection of Visit\.key takes its fields by name: user"):
        sk.collection(Visit.key, "ada")  # type: ignore[call-overload]

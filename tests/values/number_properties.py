"""Numbers against `decimal`, which knows arithmetic and order but none of DynamoDB's texts and bytes."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal, Inexact
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sortkey.errors import ValidationException
from sortkey.limits import NUMBER_DIGITS
from sortkey.values import errors, number
from tests.values.strategies import decimals, number_texts, small_numbers

# Wide enough for the sum of the largest and the smallest number.
WIDE = Context(prec=400, traps=[Inexact])


@given(number_texts)
def test_canonical_text_keeps_the_value(text: str) -> None:
    assert Decimal(number.canonical(text)) == Decimal(text)


@given(decimals)
def test_equal_numbers_have_equal_text(decimal: Decimal) -> None:
    texts = {number.canonical(text) for text in (str(decimal), format(decimal, "f"), format(decimal, "E"))}
    assert len(texts) == 1
    assert number.canonical(*texts) in texts


# Short ones do not reach the pattern. Digits of other scripts are none.
@given(st.text("0123456789", min_size=1, max_size=45) | st.text("01²٣", min_size=1, max_size=5))
def test_digits_are_an_integer_or_rejected(text: str) -> None:
    if text.isascii() and len(text.strip("0")) <= NUMBER_DIGITS:
        assert number.canonical(text) == str(int(text))
        return
    with pytest.raises(ValidationException) as rejected:
        number.canonical(text)
    assert rejected.value.message == (errors.TOO_MANY_DIGITS if text.isascii() else errors.not_a_number(text).message)


@given(decimals, decimals)
def test_sum_is_exact_or_rejected(a: Decimal, b: Decimal) -> None:
    total = WIDE.add(a, b)
    expected = _expected(total)
    assert _outcome(number.add, a, b) == expected
    assert _outcome(number.subtract, a, b.copy_negate()) == expected


@given(st.integers(-(10**40), 10**40), st.integers(-(10**40), 10**40))
def test_sum_of_integers_is_exact_or_rejected(a: int, b: int) -> None:
    if isinstance(_expected(Decimal(a)), Decimal) and isinstance(_expected(Decimal(b)), Decimal):
        assert _outcome(number.add, Decimal(a), Decimal(b)) == _expected(Decimal(a + b))


def _outcome(operation: Callable[[str, str], str], a: Decimal, b: Decimal) -> Decimal | str:
    try:
        return Decimal(operation(number.canonical(str(a)), number.canonical(str(b))))
    except ValidationException as rejected:
        return rejected.message


def _expected(exact: Decimal) -> Decimal | str:
    digits = "".join(map(str, exact.as_tuple().digits)).strip("0")
    if not digits:
        return exact
    if len(digits) > 38:
        return errors.TOO_MANY_DIGITS
    if exact.adjusted() > 125:
        return errors.OVERFLOW
    return errors.UNDERFLOW if exact.adjusted() < -130 else exact


@given(st.lists(decimals, min_size=2, max_size=10))
def test_sort_bytes_order_as_numbers_do(unordered: list[Decimal]) -> None:
    def encoded(decimal: Decimal) -> bytes:
        return number.sort_bytes(number.canonical(str(decimal)))

    assert sorted(unordered, key=encoded) == sorted(unordered)
    for less, more in pairwise(sorted(set(unordered))):
        assert encoded(less) < encoded(more)
        assert not encoded(more).startswith(encoded(less))
        assert number.compare(number.canonical(str(less)), number.canonical(str(more))) == -1


# The same size by another method: write the digits around the point, cut them into pairs, drop the empty ends.
@given(decimals)
def test_size_counts_the_pairs_that_are_not_zero(decimal: Decimal) -> None:
    whole, _, fraction = format(decimal.copy_abs(), "f").partition(".")
    laid_out = whole.rjust(len(whole) + len(whole) % 2, "0") + fraction.ljust(len(fraction) + len(fraction) % 2, "0")
    pairs = [laid_out[at : at + 2] for at in range(0, len(laid_out), 2)]
    used = [index for index, pair in enumerate(pairs) if pair != "00"]
    count = used[-1] - used[0] + 1 if used else 0
    assert number.size(number.canonical(str(decimal))) == min(1 + count + (decimal < 0), 21)


@given(
    st.lists(small_numbers, min_size=1, max_size=6)
    | st.lists(small_numbers | decimals.map(str).map(number.canonical), min_size=1, max_size=3)
)
def test_numbers_have_together_the_size_that_they_have_alone(texts: list[str]) -> None:
    expected = sum(map(number.size, texts))
    assert number.total_size(texts) in (expected, 0)
    if all(len(text) < 20 for text in texts):
        assert number.total_size(texts) == expected


# A text that another canonical form would replace, or that is no number, is not measured. Nor are two in one text.
@given(st.lists(number_texts | st.text("-0123.5\n", max_size=6), min_size=1, max_size=4))
def test_only_canonical_texts_are_measured_together(texts: list[str]) -> None:
    if number.total_size(texts):
        assert [number.canonical(text) for text in texts] == texts
        assert number.total_size(texts) == sum(map(number.size, texts))

"""Numbers: which are valid, their canonical text, sums and sizes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sortkey.errors import ValidationException
from sortkey.values import errors, number

LARGEST = "9" * 38 + "0" * 88
SMALLEST = "0." + "0" * 129 + "1"
DIGITS_38 = "12345678901234567890123456789012345678"


# A body can have hundreds of thousands of them.
@pytest.mark.parametrize("text", ["1", "10", "7345", DIGITS_38])
def test_a_plain_integer_needs_no_pattern(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(number, "_is_canonical_fast")
    assert number.canonical(text) is text


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0", "0"),
        ("-0", "0"),
        ("-00.00", "0"),
        ("0e500", "0"),
        ("5", "5"),
        ("+5", "5"),
        ("00012", "12"),
        ("1.0", "1"),
        ("1.", "1"),
        (".5", "0.5"),
        ("-.5", "-0.5"),
        ("1.50", "1.5"),
        ("-12.340", "-12.34"),
        ("1e2", "100"),
        ("1.e5", "100000"),
        ("1E+10", "10000000000"),
        ("1.5e-3", "0.0015"),
        ("1e0000000000000002", "100"),
        (DIGITS_38, DIGITS_38),
        (DIGITS_38 + "0", DIGITS_38 + "0"),
        ("0.00" + DIGITS_38, "0.00" + DIGITS_38),
        ("9.9999999999999999999999999999999999999E+125", LARGEST),
        ("-9.9999999999999999999999999999999999999E+125", "-" + LARGEST),
        ("1E-130", SMALLEST),
        ("-1E-130", "-" + SMALLEST),
        # Digits may go below the smallest magnitude, as long as the first does not.
        ("1.23E-130", SMALLEST + "23"),
        ("0" * 5000 + "1", "1"),
    ],
)
def test_a_number_has_one_text(text: str, canonical: str) -> None:
    assert number.canonical(text) == canonical


@pytest.mark.parametrize(
    "text",
    "abc| 5|5 |5\n|1e|.|-|+|e5|--5|-+1|1 2|1.2.3|1_000|0x10|NaN|Infinity|1f|1e99999999999|0e99999999999|١|1٢|1e٣".split(
        "|"
    ),
)
def test_text_that_is_no_number_is_named(text: str) -> None:
    with pytest.raises(ValidationException) as rejected:
        number.canonical(text)
    assert rejected.value.message == f"The parameter cannot be converted to a numeric value: {text}"


# A request may have 400 KB of digits; reading them must not take quadratic time.
@pytest.mark.parametrize("text", ["9" * 200_000 + "x", "1." + "9" * 200_000 + "x", "1e" + "0" * 200_000 + "x"])
def test_long_text_is_rejected_in_linear_time(text: str) -> None:
    with pytest.raises(ValidationException, match="cannot be converted to a numeric value"):
        number.canonical(text)


def test_empty_text_is_no_number() -> None:
    with pytest.raises(ValidationException) as rejected:
        number.canonical("")
    assert rejected.value.message == "The parameter cannot be converted to a numeric value"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1E126", "Number overflow. Attempting to store a number with magnitude larger than supported range"),
        ("-1E126", "Number overflow. Attempting to store a number with magnitude larger than supported range"),
        ("1e400", "Number overflow. Attempting to store a number with magnitude larger than supported range"),
        ("1" + "0" * 126, "Number overflow. Attempting to store a number with magnitude larger than supported range"),
        ("9E-131", "Number underflow. Attempting to store a number with magnitude smaller than supported range"),
        ("-1E-131", "Number underflow. Attempting to store a number with magnitude smaller than supported range"),
        (DIGITS_38 + "9", "Attempting to store more than 38 significant digits in a Number"),
        ("9" * 38 + ".5", "Attempting to store more than 38 significant digits in a Number"),
        # The number of digits is checked before the magnitude.
        (DIGITS_38 + "9e300", "Attempting to store more than 38 significant digits in a Number"),
    ],
)
def test_numbers_outside_the_range_are_rejected(text: str, message: str) -> None:
    with pytest.raises(ValidationException) as rejected:
        number.canonical(text)
    assert rejected.value.message == message


@pytest.mark.parametrize(
    ("a", "b", "total"),
    [
        ("1", "2", "3"),
        ("5", "-5", "0"),
        ("0.1", "0.2", "0.3"),
        ("0.5", "0.5", "1"),
        ("-0.25", "1", "0.75"),
        ("9" * 38, "1", "1" + "0" * 38),
        ("1" + "0" * 37, "1", "1" + "0" * 36 + "1"),
        (LARGEST, "-" + LARGEST, "0"),
    ],
)
def test_addition_is_exact(a: str, b: str, total: str) -> None:
    assert number.add(a, b) == total
    assert number.add(b, a) == total


@pytest.mark.parametrize(
    ("a", "b", "difference"),
    [("1", "1", "0"), ("5", "-5", "10"), ("5", "0", "5"), ("0", "5", "-5"), ("1" + "0" * 38, "1", "9" * 38)],
)
def test_subtraction_is_exact(a: str, b: str, difference: str) -> None:
    assert number.subtract(a, b) == difference


# DynamoDB never rounds: a sum with too many digits is an error, and the item does not change.
@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ("9" * 38, "2", errors.TOO_MANY_DIGITS),
        ("1", number.canonical("1e-50"), errors.TOO_MANY_DIGITS),
        (DIGITS_38, "0.5", errors.TOO_MANY_DIGITS),
        (LARGEST, number.canonical("1e80"), errors.TOO_MANY_DIGITS),
        (LARGEST, number.canonical("1e88"), errors.OVERFLOW),
        ("9" + "0" * 125, "9" + "0" * 125, errors.OVERFLOW),
        (number.canonical("1.5e-130"), "-" + SMALLEST, errors.UNDERFLOW),
    ],
)
def test_a_sum_that_does_not_fit_is_rejected(a: str, b: str, message: str) -> None:
    with pytest.raises(ValidationException) as rejected:
        number.add(a, b)
    assert rejected.value.message == message


# Each measured on DynamoDB Local, by the padding that tips an item over one write unit.
@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 1),
        ("1", 2),
        ("12", 2),
        ("123", 3),
        ("-1", 3),
        ("-123", 4),
        ("10", 2),
        ("100", 2),
        ("1000", 2),
        ("1001", 3),
        ("10001", 4),
        ("-100", 3),
        ("0.1", 2),
        ("0.01", 2),
        ("0.001", 2),
        ("0.012", 3),
        ("0.12", 2),
        ("1.5", 3),
        ("12.34", 3),
        ("1.234", 4),
        ("123.4", 4),
        ("100.5", 4),
        ("-0.5", 3),
        ("1" + "0" * 100, 2),
        (SMALLEST, 2),
        (DIGITS_38, 20),
        ("-" + DIGITS_38, 21),
        ("1." + DIGITS_38[:37], 21),
        ("-1." + DIGITS_38[:37], 21),
    ],
)
def test_size_counts_pairs_of_digits_around_the_point(text: str, size: int) -> None:
    assert number.size(text) == size


@pytest.mark.parametrize(
    "text", ["", "0", "007", "10", "1.50", "0.5", "-3", "+3", "1e3", "٣", "1.٣", DIGITS_38 + "1", "3.", ".3"]
)
def test_other_text_is_no_plain_number(text: str) -> None:
    assert number.plain_size(text) == 0


@given(st.from_regex(r"[0-9]{1,40}(\.[0-9]{1,40})?", fullmatch=True))
def test_a_plain_number_is_canonical_and_has_its_size(text: str) -> None:
    size = number.plain_size(text)
    if size:
        assert number.canonical(text) == text
        assert number.size(text) == size


# The layout is a file format: after a change, no stored key would be found.
@pytest.mark.parametrize(
    ("text", "encoded"),
    [
        ("0", "01"),
        ("1", "02 82 0b 00"),
        ("12", "02 83 0d 00"),
        ("120", "02 84 0d 00"),
        ("99.5", "02 83 64 33 00"),
        ("0.05", "02 80 33 00"),
        ("-1", "00 7d f4 ff"),
        (SMALLEST, "02 00 0b 00"),
        (LARGEST, "02 ff " + "64 " * 19 + "00"),
    ],
)
def test_sort_bytes_layout(text: str, encoded: str) -> None:
    assert number.sort_bytes(text) == bytes.fromhex(encoded)


@pytest.mark.parametrize(("a", "b", "order"), [("2", "10", -1), ("-2", "-10", 1), ("0.5", "0.5", 0), ("-1", "0", -1)])
def test_numbers_compare_by_value(a: str, b: str, order: int) -> None:
    assert number.compare(a, b) == order

"""DynamoDB's numbers: 38 significant digits, magnitudes 1E-130 to 9.99…E+125, and zero.

A number is sent as text. Its canonical text is the decimal notation that DynamoDB answers with: no exponent, no sign
on zero, no leading or trailing zeros. Equal numbers have equal canonical text. All functions but `canonical` take
canonical text.

Sort bytes have the order of the numbers, and none is a prefix of another, so more bytes can follow them in a key:

    negative   00  FF - each byte of the positive body
    zero       01
    positive   02  body

    body       exponent of the leading digit + 130, one byte (00 to FF)
               the significant digits by twos from the left, the last padded with 0: each pair + 1 (01 to 64)
               00, the end
"""

from __future__ import annotations

import re
from decimal import MAX_EMAX, MIN_EMIN, ROUND_DOWN, Context, Decimal, Inexact
from typing import Final

from sortkey.errors import ValidationException
from sortkey.limits import NUMBER_DIGITS, NUMBER_MAX_EXPONENT, NUMBER_MIN_EXPONENT
from sortkey.values import errors

# Text that is canonical and certainly in range: nearly every number.
_is_canonical_fast = re.compile(r"(?:0|-?[1-9][0-9]{0,37}|-?(?:0|[1-9][0-9]{0,18})\.[0-9]{0,18}[1-9])").fullmatch

_is_plain_fraction = re.compile(r"[1-9][0-9]{0,17}\.[0-9]{0,17}[1-9]").fullmatch

# Canonical and in range, a line each.
_are_canonical = re.compile(
    r"(?:0\n|-?[1-9][0-9]{0,37}\n|-?0\.[0-9]{0,36}[1-9]\n|-?[1-9][0-9]{0,18}\.[0-9]{0,18}[1-9]\n)++"
).fullmatch

# Of these, numbers between -10 and 10 whose size is not limited by _LARGEST_SIZE.
_are_small = re.compile(r"(?:-?[0-9]\.[0-9]{0,35}[1-9]\n|-?[1-9]\n|0\n)++").fullmatch

# Decimal would also accept blanks, underscores, the digits of other scripts, NaN and Infinity. Exponents of more than
# ten digits are rejected here, before Decimal sees them.
_is_number = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?0*\d{1,10})?", re.ASCII).fullmatch

_exact = Context(prec=NUMBER_DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact])
_rounded = Context(prec=NUMBER_DIGITS, rounding=ROUND_DOWN, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])

_LARGEST_SIZE: Final = 21
_EXPONENT_BIAS: Final = -NUMBER_MIN_EXPONENT
_PAIR_OF_HEX: Final = bytes(byte - 6 * (byte >> 4) + 1 for byte in range(256))
_COMPLEMENT: Final = bytes(255 - byte for byte in range(256))


def canonical(text: str) -> str:
    """The canonical text of a number, the same object if it is canonical already."""
    # Most numbers are plain integers. This takes half the time of the pattern.
    if text.isdigit() and len(text) <= NUMBER_DIGITS and text[0] != "0" and text.isascii():
        return text
    if _is_canonical_fast(text):
        return text
    if not _is_number(text):
        raise errors.not_a_number(text)
    written = _write(Decimal(text))
    return text if written == text else written


def _write(number: Decimal) -> str:
    if not number:
        return "0"
    try:
        shortest = number.normalize(_exact)
    except Inexact:
        raise ValidationException(errors.TOO_MANY_DIGITS) from None
    exponent = shortest.adjusted()
    if exponent > NUMBER_MAX_EXPONENT:
        raise ValidationException(errors.OVERFLOW)
    if exponent < NUMBER_MIN_EXPONENT:
        raise ValidationException(errors.UNDERFLOW)
    # For most numbers this is the decimal notation too, and takes a third of the time.
    text = str(shortest)
    return format(shortest, "f") if "E" in text else text


def add(a: str, b: str) -> str:
    if len(a) < NUMBER_DIGITS and len(b) < NUMBER_DIGITS and "." not in a and "." not in b:
        return str(int(a) + int(b))
    left, right = Decimal(a), Decimal(b)
    try:
        return _write(_exact.add(left, right))
    except Inexact:
        pass
    # Of a sum that is too large as well, AWS says that.
    too_large = _rounded.add(left, right).adjusted() > NUMBER_MAX_EXPONENT
    raise ValidationException(errors.OVERFLOW if too_large else errors.TOO_MANY_DIGITS)


def subtract(a: str, b: str) -> str:
    if b == "0":
        return a
    return add(a, b[1:] if b[0] == "-" else f"-{b}")


def compare(a: str, b: str) -> int:
    """-1, 0 or 1, as `a` is less than, equal to or greater than `b`."""
    left, right = Decimal(a), Decimal(b)
    return (left > right) - (left < right)


def sort_bytes(text: str) -> bytes:
    if text[0] != "0" and text.isdigit():
        # Most numbers are positive and whole. This takes half of the time.
        digits = text.rstrip("0")
        pairs = bytes.fromhex(digits if len(digits) % 2 == 0 else digits + "0").translate(_PAIR_OF_HEX)
        return b"\x02%c%b\x00" % (len(text) - 1 + _EXPONENT_BIAS, pairs)
    if text == "0":
        return b"\x01"
    if text[0] == "-":
        return b"\x00" + _body(text[1:]).translate(_COMPLEMENT)
    return b"\x02" + _body(text)


def _body(magnitude: str) -> bytes:
    exponent, digits = _scientific(magnitude)
    if len(digits) & 1:
        digits += "0"
    # Two decimal digits read as hexadecimal are one byte, which the table turns into the pair's value + 1.
    return b"%c%b\x00" % (exponent + _EXPONENT_BIAS, bytes.fromhex(digits).translate(_PAIR_OF_HEX))


def _scientific(magnitude: str) -> tuple[int, str]:
    """The exponent of the leading digit, and the significant digits."""
    whole, _, fraction = magnitude.partition(".")
    if not fraction:
        return len(whole) - 1, whole.rstrip("0")
    if whole != "0":
        return len(whole) - 1, whole + fraction
    digits = fraction.lstrip("0")
    return len(digits) - len(fraction) - 1, digits


def plain_size(text: str) -> int:
    """The size of a plain number; 0 for any other text.

    Plain are canonical positive numbers, except those below 1 and whole numbers that end with 0. Most numbers are. They
    need neither `canonical` nor `size`, which take twice as long.
    """
    if text.isdigit():
        if text[0] != "0" != text[-1] and len(text) <= NUMBER_DIGITS and text.isascii():
            return (len(text) + 3) // 2
    elif _is_plain_fraction(text):
        point = text.index(".")
        return (point + 1) // 2 + (len(text) - point) // 2 + 1
    return 0


def size(text: str) -> int:
    """Bytes that DynamoDB counts: one, one more for a minus sign, and one for every two significant digits.

    The digits are paired from the decimal point outwards, so 1.5 has the size of 12.34, and 10 that of 1000.
    """
    if text.isdigit() and text[-1] != "0":
        return (len(text) + 3) // 2
    if text == "0":
        return 1
    point = text.find(".")
    if point > 0 and text[0] not in "-0":
        return min((point + 1) // 2 + (len(text) - point) // 2 + 1, _LARGEST_SIZE)
    whole, _, fraction = text.lstrip("-").partition(".")
    if fraction and whole != "0":
        pairs = (len(whole) + 1) // 2 + (len(fraction) + 1) // 2
    else:
        digits = fraction or whole
        # A fraction has zeros at its start only, a whole number at its end.
        zeros = len(digits) - len(digits.strip("0"))
        pairs = (len(digits) + 1) // 2 - zeros // 2
    return min(pairs + 1 + (text[0] == "-"), _LARGEST_SIZE)


def total_size(texts: list[str]) -> int:
    """The size of all texts together, if all are canonical, and plain enough to see that at once; 0 otherwise.

    Hundreds between -10 and 10, such as the components of a vector, take an eighth of the time of one by one.
    """
    lines = "\n".join(texts) + "\n"
    if lines.count("\n") != len(texts):
        return 0
    if not _are_small(lines):
        return sum(map(size, texts)) if _are_canonical(lines) else 0
    # As `size` does: one byte, one for a minus sign, and one for every two digits of the fraction. This counts half of
    # the text, rounded up, for a number below 1.
    total = sum([(len(text) + 1 + (text[0] == "-")) >> 1 for text in texts])
    # A digit before the point has a byte of its own unless it is 0; two zeros after it have none.
    total += len(texts) - lines.count("0.") - lines.count("0\n")
    zeros = "0.00"
    while found := lines.count(zeros):
        total -= found
        zeros += "00"
    return total

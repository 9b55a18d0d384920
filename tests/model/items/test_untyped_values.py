"""Values without declared types, as upgrade functions return them."""

from __future__ import annotations

from decimal import Decimal

import pytest

from sortkey.model.items.untyped_values import from_untyped


# What a function computes is read by fields: an int field reads no point, and the store would drop it as well.
@pytest.mark.parametrize(
    ("number", "text"),
    [
        (Decimal("2.5") * 1000, "2500"),
        (Decimal("-0.0"), "0"),
        (Decimal("2.50"), "2.50"),
        (Decimal("1E+2"), "100"),
        (Decimal("1E+100"), "1E+100"),
        (7, "7"),
    ],
)
def test_whole_numbers_have_no_point(number: Decimal | int, text: str) -> None:
    assert from_untyped(number) == {"N": text}

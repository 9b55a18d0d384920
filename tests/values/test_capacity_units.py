"""Capacity units at the edges of their steps."""

from __future__ import annotations

import pytest

from sortkey.values.size import read_units, transactional_read_units, write_units


# Reading a missing item costs as much as reading a small one.
@pytest.mark.parametrize(("size", "units"), [(0, 1), (1, 1), (4096, 1), (4097, 2), (400 * 1024, 100)])
def test_reads_by_four_kilobytes(size: int, units: float) -> None:
    assert read_units(size, consistent=True) == units
    assert read_units(size, consistent=False) == units / 2
    assert transactional_read_units(size) == 2 * units


@pytest.mark.parametrize(("size", "units"), [(0, 1), (1, 1), (1024, 1), (1025, 2), (400 * 1024, 400)])
def test_writes_by_one_kilobyte(size: int, units: float) -> None:
    assert write_units(size) == units

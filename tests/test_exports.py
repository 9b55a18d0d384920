"""The public names: adding or removing one is a decision, so it takes an edit here."""

from __future__ import annotations

import sortkey

EXPORTS = ["async_client", "client"]


def test_public_names_are_pinned() -> None:
    assert sorted(sortkey.__all__) == EXPORTS


def test_public_names_exist() -> None:
    assert [name for name in sortkey.__all__ if not hasattr(sortkey, name)] == []

"""The public names: adding or removing one is a decision, so it takes an edit here."""

from __future__ import annotations

import sortkey

EXPORTS = """
    AsyncSession ConditionFailed CursorError DeadlineExceeded DeclarationError DecodeError EncodeError Entries
    Index Item ItemMissing Key KeyChange KeyPartError ModelError NoAccessPath Page Path Session Table TablesDiffer
    Transaction TransactionFailed Unsupported above absent add append async_client at_least at_most below
    client collection connect discard extra field inexact initially one_of open other_than present replace sized
""".split()


def test_public_names_are_pinned() -> None:
    assert sorted(sortkey.__all__) == EXPORTS


def test_public_names_exist() -> None:
    assert [name for name in sortkey.__all__ if not hasattr(sortkey, name)] == []

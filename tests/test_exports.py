"""The public names: adding or removing one is a decision, so it takes an edit here."""

from __future__ import annotations

import subprocess
import sys

import pytest

import sortkey

EXPORTS = """
    Aggregate Aggregator AsyncScan AsyncSession AuditProgress AuditReport BadRequest BadSettings Bounded BoundedRows
    BoundedSet Caller Change ChangeFeed Changes ConditionFailed Conflict Consumer CursorError DeadLetter
    DeadlineExceeded DeclarationError DecodeError Deleted Difference DroppedTable Due EncodeError Entries
    EventBridge F Faults Follower GenerationReader Generations Index Item ItemMissing Key KeyChange KeyPartError
    Load LoadError Loaded Message ModelError NoAccessPath NoEarlierGeneration NotFound Overlay OverlayReader Page
    PartialItem Path Progress PutEntryResult Rank Ranked Ranking RecountReport Rejected Removed Remover Scan
    ScanEstimate Schedule Served Service ServiceDefinition Session Shards Superseded Table TablesDiffer Timers
    Transaction TransactionFailed UnknownField Unsupported Where above absent add aggregate all_of any_of append
    async_client at_least at_most below bounded bounded_rows client codec collection connect contains count created
    discard due_handler each epoch epoch_ms extra field generations in_key inexact initially is_partial
    lambda_handler maximum minimum none_of one_of open other_than overlay place present ranges ranking read
    read_record replace schedule seconds sized starting stored_as total updated value_of window
""".split()


def test_public_names_are_pinned() -> None:
    assert sorted(sortkey.__all__) == EXPORTS


def test_public_names_exist() -> None:
    assert [name for name in sortkey.__all__ if not hasattr(sortkey, name)] == []


# The names are imported on first use; dir() and a star import list them all the same.
@pytest.mark.parametrize(
    "program",
    [
        "import sortkey; assert set(sortkey.__all__) <= set(dir(sortkey))",
        "from sortkey import *; assert Item.__name__ == 'Item'",
    ],
)
@pytest.mark.slow
def test_public_names_are_found_before_they_are_used(program: str) -> None:
    subprocess.run([sys.executable, "-c", program], check=True)


# The comment for the type checker is part of the test: mypy reports an unused one.
def test_a_name_that_is_not_public_is_an_error() -> None:
    with pytest.raises(AttributeError, match="module 'sortkey' has no attribute 'Itme'"):
        _ = sortkey.Itme  # type: ignore[attr-defined]


# The function has the name of a package, which replaces the function if it is imported later.
@pytest.mark.parametrize("first", ["sortkey", "sortkey.client.remote", "sortkey.model", "sortkey.cli.db"])
@pytest.mark.slow
def test_client_is_the_function_whatever_is_imported_first(first: str) -> None:
    program = f"import {first}; import sortkey.client.remote_async; import sortkey; sortkey.client('memory:').close()"
    subprocess.run([sys.executable, "-c", program], check=True)

"""The public names: adding or removing one is a decision, so it takes an edit here."""

from __future__ import annotations

import subprocess
import sys
from operator import attrgetter
from types import ModuleType

import pytest

import sortkey

EXPORTS = """
    AccessPath AsyncScan AsyncSession AuditProgress AuditReport Change Changes Condition ConditionFailed CursorError
    DeadlineExceeded DeclarationError DecodeError DeleteResult DroppedTable EncodeError Entries F Index Item ItemMissing
    Key KeyChange KeyPartError LoadError LoadResult ModelError Neighbour NoAccessPath Page PartialItem PutEntryResult
    Scan ScanEstimate Session Shards Table TablesDiffer Transaction TransactionFailed UnknownField Unsupported Vector
    VectorIndex VectorPath Where WrongRegion async_client async_connect client codec collection compat computed connect
    created each epoch epoch_ms extra feeds field graphql in_key inexact is_partial patterns read replace seconds
    services stored_as testing updated version
""".split()
MODULES = {
    "patterns": """
        Aggregate Aggregator Bounded BoundedMany BoundedRows BoundedSet Difference Due GenerationLoad GenerationReader
        Generations HandoverPending NoEarlierGeneration Overlay OverlayReader Rank Ranked Ranking RecountReport Rekey
        RekeyCheck RekeyConflict RekeyFlag RekeyReader RekeyRefused RekeyRemoval RekeyStatus RekeyWriter Removed
        Remover Schedule Served Superseded aggregate bounded bounded_rows count generations maximum minimum overlay
        ranges ranking rekey schedule total window
    """,
    "feeds": """
        ChangeFeed Consumer DeadLetter EventBridge EventBridgeBus EventRejected EventTarget Follower KafkaTopic Message
        OutgoingEvent Rejected SnsTopic Timers due_handler lambda_handler read_record rekey_feeds
    """,
    "compat.electrodb": "AnyValue Entity ISOString Integer Number TTL",
    "compat.pynamodb": "AnyValue JSON LegacyBinary LegacyBoolean Number TTL UTCDateTime",
    "testing": "AmbiguousStore Faults Local ManualClock RefusedService RegionsOfTest async_local local regions",
}


def test_public_names_are_pinned() -> None:
    assert sorted(sortkey.__all__) == EXPORTS


@pytest.mark.parametrize("module", MODULES)
def test_the_names_of_public_modules_are_pinned(module: str) -> None:
    found = attrgetter(module)(sortkey)
    listed = getattr(found, "__all__", None) or [
        name for name, value in vars(found).items() if not name.startswith("_") and not isinstance(value, ModuleType)
    ]
    assert sorted(listed) == MODULES[module].split()


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

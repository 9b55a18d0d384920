"""Checks that a data folder is consistent: every byte in it is accounted for.

The check walks one snapshot from end to end, so other processes may write meanwhile. LMDB's pages are checked first, by
code that does not trust them (`storage/page_tree.py`), then the checksum of each record. Each table row must decode to
a canonical item with that row key. Everything that is derived from the items (index rows, expiry entries, counts) is
computed again and compared with what is stored. Every space must belong to a catalog entry or be garbage that waits for
the janitor.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from sortkey.engine.check.findings import CheckReport, Findings, Progress
from sortkey.engine.check.seal_check import damaged_records, problem_of
from sortkey.engine.check.stream_check import check_streams
from sortkey.engine.check.table_check import check_table
from sortkey.engine.core import Core
from sortkey.engine.rows import records, spaces
from sortkey.engine.tables.catalog import Catalog
from sortkey.engine.tables.table import Table
from sortkey.errors import InternalServerError
from sortkey.storage import DAMAGED_PAGE, DamagedFolder, Transaction, after_prefix, ascending, open_existing

__all__ = ["CheckReport", "check", "check_database"]

_OWN_SPACES = (spaces.CATALOG, spaces.COUNTS, spaces.EXPIRY, spaces.TOKENS, spaces.GARBAGE)


def check(path: Path, progress: Progress | None = None) -> CheckReport:
    """Check a folder, which may be in use by other processes. Raises StorageError when it is not a data folder."""
    try:
        environment = open_existing(path, check_pages=True)
    except DamagedFolder as error:
        return CheckReport(tables=0, items=0, index_rows=0, problems=[str(error)])
    try:
        with environment.begin() as snapshot:
            return _check(snapshot, progress)
    finally:
        environment.close()


def check_database(core: Core, progress: Progress | None = None) -> CheckReport:
    """Check the store that this process has open."""
    with core.read() as snapshot:
        return _check(snapshot, progress)


def _check(snapshot: Transaction, progress: Progress | None) -> CheckReport:
    findings = Findings(progress)
    for key, has_key in damaged_records(snapshot):
        findings.problem(problem_of(snapshot, key, has_key))
    try:
        _check_content(snapshot, findings)
    except (InternalServerError, *DAMAGED_PAGE) as error:
        findings.problem(f"the check ended early: {error}")
    return findings.report()


def _check_content(snapshot: Transaction, findings: Findings) -> None:
    """Compare the records with one another."""
    tables = _tables(snapshot, findings)
    for table in tables:
        check_table(snapshot, table, findings)
        check_streams(snapshot, table, findings)
    _check_spaces(snapshot, tables, findings)


def _tables(snapshot: Transaction, findings: Findings) -> list[Table]:
    try:
        tables = Catalog().tables(snapshot)
    except msgspec.DecodeError as error:
        findings.problem(f"the catalog cannot be read: {error}")
        return []
    findings.tables = len(tables)
    return list(tables.values())


def _check_spaces(snapshot: Transaction, tables: list[Table], findings: Findings) -> None:
    counted = {space for table in tables for space in _counted_spaces(table)}
    streams = {spaces.space_bytes(stream.space) for table in tables for stream in table.entry.streams}
    garbage = _members(snapshot, spaces.GARBAGE)
    for space in sorted(garbage & (counted | streams)):
        findings.problem(f"space {_number(space)} is in use, but marked as garbage")
    for space in _used_spaces(snapshot):
        if space not in counted | streams | garbage and space not in _OWN_SPACES:
            findings.problem(f"space {_number(space)} has no owner")
    for space in sorted(_members(snapshot, spaces.COUNTS) - counted):
        findings.problem(f"space {_number(space)} has a count, but is not a table or index")
    _check_next_space(snapshot, counted | streams | garbage, findings)


def _counted_spaces(table: Table) -> set[bytes]:
    return {table.space, *(index.space for index in table.indexes.values())}


def _members(snapshot: Transaction, space: bytes) -> set[bytes]:
    return {key[spaces.SPACE_BYTES :] for key, _ in ascending(snapshot, space, after_prefix(space))}


def _used_spaces(snapshot: Transaction) -> list[bytes]:
    """The spaces that are not empty, found by seeking from one to the next."""
    used: list[bytes] = []
    cursor = snapshot.cursor()
    found = cursor.first()
    while found:
        used.append(cursor.key()[: spaces.SPACE_BYTES])
        found = cursor.set_range(after_prefix(used[-1]))
    return used


def _check_next_space(snapshot: Transaction, assigned: set[bytes], findings: Findings) -> None:
    next_space = int.from_bytes(records.read(snapshot, spaces.NEXT_SPACE) or b"", "big")
    if assigned and _number(max(assigned)) >= next_space:
        findings.problem(f"space {_number(max(assigned))} is in use, but would be assigned again")


def _number(space: bytes) -> int:
    return int.from_bytes(space, "big")

"""After a kill while it fills an index, indexes a TTL or empties a table, the janitor continues where it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

import sortkey
from sortkey.engine.check.database_check import check
from sortkey.engine.database import Database
from sortkey.engine.rows import records
from sortkey.engine.tables.core import Catalog
from sortkey.storage import Transaction, after_prefix, ascending, open_existing
from tests.faults import bank, chore_writer
from tests.faults.processes import Program, killed

KILLS = 6
pytestmark = pytest.mark.slow

Left = Callable[[Transaction], str]
"""The progress of a chore as text that changes with it; empty when it is done."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two tables, one of them with thousands of items."""
    random = Random(0)
    with sortkey.client(tmp_path) as client:
        for table in ("things", "others"):
            bank.create(client, table)
        for start in range(0, chore_writer.ITEMS, 25):
            things = [bank.wire(chore_writer.thing(number, random)) for number in range(start, start + 25)]
            client.batch_write_item(RequestItems={"things": [{"PutRequest": {"Item": thing}} for thing in things]})
    return tmp_path


def index_left(snapshot: Transaction) -> str:
    return Catalog().tables(snapshot)["things"].indexes["by-colour"].entry.backfilled_to or ""


def expiries_left(snapshot: Transaction) -> str:
    return Catalog().tables(snapshot)["things"].entry.ttl_indexed_to or ""


def rows_left(snapshot: Transaction) -> str:
    garbage = [key[4:] for key, _ in ascending(snapshot, records.GARBAGE, after_prefix(records.GARBAGE))]
    return " ".join(str(sum(1 for _ in ascending(snapshot, space, after_prefix(space)))) for space in garbage)


def look(folder: Path, left: Left) -> str:
    environment = open_existing(folder)
    with environment.begin() as snapshot:
        found = left(snapshot)
    environment.close()
    return found


@pytest.mark.parametrize(
    ("program", "left"),
    [
        pytest.param(chore_writer.fill_index, index_left, id="filling an index"),
        pytest.param(chore_writer.fill_expiries, expiries_left, id="indexing expiries"),
        pytest.param(chore_writer.empty_table, rows_left, id="emptying a table"),
    ],
)
def test_a_chore_survives_kills(folder: Path, program: Program, left: Left) -> None:
    positions = []
    for seed in range(KILLS):
        killed(program, folder, seed, after_lines=Random(seed).randint(1, 12))
        positions.append(look(folder, left))
        assert check(folder).problems == []
    assert len(set(filter(None, positions))) >= 2, f"the kills did not fall into the chore: {positions}"
    database = Database(folder)
    database.janitor.sweep()
    database.close()
    assert look(folder, left) == ""
    assert check(folder).problems == []


# When the index becomes ACTIVE, it has all rows, including those that were written meanwhile.
def test_an_index_filled_through_kills_is_complete(folder: Path) -> None:
    for seed in range(2):
        killed(chore_writer.fill_index, folder, seed, after_lines=5)
    database = Database(folder)
    database.janitor.sweep()
    database.close()
    with sortkey.client(folder) as client:
        (index,) = client.describe_table(TableName="things")["Table"]["GlobalSecondaryIndexes"]
        assert index["IndexStatus"] == "ACTIVE"
        things = sorted(bank.rows(client, "things"), key=repr)
        assert sorted(bank.rows(client, "things", IndexName="by-colour"), key=repr) == things
        assert len(things) == chore_writer.ITEMS

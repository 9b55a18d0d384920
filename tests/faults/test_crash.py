"""After a kill at any moment, the engine has all that it acknowledged, and nothing in part.

`make crash N=1000 SEED=1` kills more often.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import sortkey
from tests.faults import bank
from tests.faults.crash import survivors, writer
from tests.faults.crash.acknowledged import Acknowledged
from tests.faults.crash.campaign import WAYS, Campaign, examine
from tests.faults.processes import killed

KILLS = 100
SEED = 20_260_824


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_acknowledged_write_survives_every_kill() -> None:
    result = Campaign(SEED).run(KILLS)
    assert result.kills == KILLS
    assert result.ways.keys() == {way.__name__ for way in WAYS}
    # The kills do not miss their subject.
    assert result.lines > 20 * KILLS


# The kernel must release the lock of a dead writer, and wake all who wait. `make crash` allows no write a second; here,
# the machine may be busy, and a survivor that was forgotten would wait for ever.
@pytest.mark.slow
def test_the_survivors_of_a_kill_go_on_writing() -> None:
    survived = survivors.survive(SEED, KILLS, longest=60.0)
    assert survived.kills == KILLS
    assert survived.writes > KILLS


# The following tests lose something on purpose: an examination that finds nothing must be able to find something.


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with sortkey.client(tmp_path / "data") as client:
        bank.found(client)
    return tmp_path / "data"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("transfer t", "an acknowledged transfer is gone"),
        ("count 1", "an acknowledged increment is gone"),
        ("tally w 1", "w"),
        ("slot s 1", "s"),
        ("fleeting f", "an acknowledged put is neither in the table nor in its stream"),
        ("made table t", "an acknowledged table t is gone"),
        ("made index i", "an acknowledged index i is gone"),
    ],
)
def test_a_write_that_was_never_made_is_missed(folder: Path, line: str, found: str) -> None:
    acknowledged = Acknowledged()
    acknowledged.take([line])
    with pytest.raises(AssertionError, match=found):
        examine(folder, acknowledged)


def test_a_writer_that_failed_is_noticed() -> None:
    with pytest.raises(AssertionError, match="failed OSError"):
        Acknowledged().take(["failed OSError()"])


# As after a power cut on a disk that does not keep what it has synced.
def test_a_folder_that_went_back_in_time_is_noticed(folder: Path) -> None:
    acknowledged = Acknowledged()
    acknowledged.take(killed(writer.main, folder, 1, after_lines=20))
    examine(folder, acknowledged)
    earlier = shutil.copytree(folder, folder.with_name("earlier"))
    acknowledged.take(killed(writer.main, folder, 2, after_lines=20))
    with pytest.raises(AssertionError):
        examine(earlier, acknowledged)


def test_a_change_that_the_stream_lacks_is_noticed(folder: Path) -> None:
    acknowledged = Acknowledged()
    with sortkey.client(folder) as client:
        client.put_item(TableName="slots", Item={"id": {"S": "x"}, "kind": {"S": "red"}})
        client.update_table(TableName="slots", StreamSpecification={"StreamEnabled": False})
        client.put_item(TableName="slots", Item={"id": {"S": "y"}, "kind": {"S": "red"}})
    with pytest.raises(AssertionError, match="the stream of slots leads to another table"):
        examine(folder, acknowledged)

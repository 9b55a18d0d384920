"""`sortkey recount` on the command line."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import sortkey as sk
from sortkey.cli.main import main
from tests.registered import only

VISITS = sk.Table("recounted-visits", stream="NEW_AND_OLD_IMAGES")
COUNTS = sk.Table("recounted-counts")


class Visit(sk.Item, table=VISITS):
    id: str
    place: str
    at: datetime
    key = sk.Key("{id}")


class VisitCount(sk.Item, table=COUNTS):
    place: str
    visits: int = 0
    key = sk.Key("{place}")


COUNTED = sk.patterns.aggregate(Visit, into=VisitCount, by=("place",), values={"visits": sk.patterns.count()})


class Visits:
    """A service with one aggregate, or with a feed that is none."""

    name = "visits"
    routes: Sequence[Any] = ()

    def __init__(self, session: sk.AsyncSession, settings: Mapping[str, Any]) -> None:
        self._session = session
        self._counts = settings.get("counts", True)

    @property
    def feeds(self) -> Sequence[sk.feeds.ChangeFeed[Any]]:
        handler = COUNTED.aggregator(self._session).on_changes if self._counts else self.ignore
        return [sk.feeds.ChangeFeed("visit-counts", Visit, handler)]

    async def ignore(self, changes: Sequence[sk.Change[Any]]) -> None: ...

    async def start(self) -> None:
        await self._session.create_tables()

    async def load_demo(self, progress: sk.services.Progress) -> None: ...

    async def run_demo(self) -> None: ...


DEFINITION = sk.services.ServiceDefinition("visits", "visits", lambda _: [VISITS, COUNTS], Visits, has_feeds=True)


@pytest.fixture(autouse=True)
def visits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sortkey.cli.services.entry_points", only(visits="tests.cli.test_recount:DEFINITION"))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Three visits, counted, and then a mistake."""

    async def fill() -> None:
        async with sk.async_connect(tmp_path / "data", tables=[VISITS, COUNTS]) as db:
            service = Visits(db, {})
            await service.start()
            async with sk.feeds.Follower(db, service.feeds) as follower:
                for number in range(3):
                    await db.put(Visit(id=str(number), place="York", at=datetime(2026, 8, 24, tzinfo=UTC)))
                await follower.caught_up()
            await db.update(VisitCount.key(place="York"), [sk.F(VisitCount.visits).add(2)])

    asyncio.run(fill())
    return tmp_path / "data"


def printed(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str]:
    code = main(["recount", *map(str, arguments)])
    return code, capsys.readouterr().out


def test_differences_are_shown_and_left(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = (
        "visit-counts: 3 items counted, 1 groups compared: 1 wrong, 0 inexact, 0 repaired, 0 unsettled\n"
        "    place='York': visits was 5, should be 3\n"
    )
    assert printed(capsys, "visits", "--store", store) == (1, expected)
    assert printed(capsys, "visits", "--store", store) == (1, expected)


def test_differences_are_repaired(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = printed(capsys, "visits", "--store", store, "--repair")
    assert (code, "1 wrong, 0 inexact, 1 repaired" in text) == (0, True)
    code, text = printed(capsys, "visits", "--store", store)
    assert (code, "0 wrong" in text) == (0, True)


def test_json(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = printed(capsys, "visits", "--store", store, "--json")
    assert code == 1
    assert json.loads(text) == [
        {
            "feed": "visit-counts",
            "clean": False,
            "items": 3,
            "groups": 1,
            "wrong": 1,
            "inexact": 0,
            "repaired": 0,
            "unsettled": 0,
            "examples": [{"group": {"place": "York"}, "field": "visits", "found": 5, "expected": 3}],
        }
    ]


def error(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """The one line on stderr of a command that cannot run."""
    code = main(["recount", *map(str, arguments)])
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1)
    return err


def test_a_service_that_does_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert "sortkey recount: there is no service 'visit'" in error(capsys, "visit")


def test_a_service_without_aggregates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.toml").write_text("[visits]\ncounts = false\n")
    sk.connect(tmp_path / "data").close()
    found = error(capsys, "visits", "--store", tmp_path / "data", "--config", tmp_path / "config.toml")
    assert "the service visits has no feed of an aggregate" in found


def test_a_store_without_the_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sk.connect(tmp_path / "data").close()
    assert "cannot be used" in error(capsys, "visits", "--store", tmp_path / "data")


@pytest.mark.parametrize("there", [True, False])
def test_it_creates_no_store(tmp_path: Path, capsys: pytest.CaptureFixture[str], there: bool) -> None:
    folder = tmp_path / "nothing"
    if there:
        folder.mkdir()
    found = error(capsys, "visits", "--store", folder, "--repair")
    assert f"sortkey recount: there is no store in {folder}; " in found
    assert [*tmp_path.rglob("*")] == ([folder] if there else [])


# The store is all right: the item is not.
def test_an_item_that_no_group_can_have_is_named(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def put_and_give_up() -> None:
        async with (
            sk.async_connect(store, tables=[VISITS, COUNTS]) as db,
            sk.feeds.Follower(db, Visits(db, {"counts": False}).feeds) as follower,
        ):
            await db.put(Visit(id="odd", place="\U0010ffff", at=datetime(2026, 8, 24, tzinfo=UTC)))
            await follower.caught_up()

    asyncio.run(put_and_give_up())
    found = error(capsys, "visits", "--store", store, "--repair")
    assert "an item cannot be counted: place: a key cannot contain U+10FFFF" in found
    assert "there is no VisitCount with place='\\U0010ffff'" in found

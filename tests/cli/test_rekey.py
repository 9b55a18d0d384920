"""`sortkey rekey`: the steps as commands, on a folder that other processes may use."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

import sortkey as sk
from sortkey.cli.main import main
from tests.patterns.rekeying.users import BY_CITY, User, expected, new_rows

PLACE = "tests.patterns.rekeying.users:BY_CITY"
ADA = User(team="a", user="ada", cities=["x", "y"], points=1)


def within(folder: Path, test: Callable[[sk.AsyncSession], Awaitable[None]]) -> None:
    async def opened() -> None:
        async with sk.async_connect(folder, tables=BY_CITY.tables) as db:
            await db.create_tables()
            await test(db)

    asyncio.run(opened())


async def put_ada(db: sk.AsyncSession) -> None:
    await db.put(ADA)


@pytest.mark.slow
def test_the_steps_from_the_start_to_the_end(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def rekey(*arguments: str) -> tuple[int, str, str]:
        status = main(["rekey", *arguments, "--store", str(tmp_path)])
        return (status, *capfd.readouterr())

    within(tmp_path, put_ada)
    assert rekey("status", PLACE)[:2] == (0, "users-by-city: not started\n")
    status, output, _ = rekey("start", PLACE)
    assert status == 0
    assert "users-by-city: the new rows follow the old ones" in output
    assert "followers     nobody" in output
    assert rekey("check", PLACE)[:2] == (0, "1 groups compared: 0 were behind, 0 differ\n")

    # Nobody follows, which the commands make up for while they run.
    within(tmp_path, lambda db: db.update(ADA.key, {"points": 7}))  # type: ignore[arg-type]
    status, output, errors = rekey("switch", PLACE)
    assert status == 0
    assert "programs read the new design within a second, and go on writing the old one" in output
    assert "nobody follows the changes" in errors
    assert rekey("back", PLACE)[:2] == (0, "programs read the old design within a second\n")
    status, _, errors = rekey("finish", PLACE, "--yes")
    assert (status, errors) == (
        1,
        "sortkey rekey: programs still read the old design of users-by-city; switch first\n",
    )

    assert rekey("switch", PLACE)[0] == 0
    status, output, _ = rekey("finish", PLACE, "--dry-run")
    assert (status, output.splitlines()[-1]) == (0, "would remove 1 old rows")
    status, output, _ = rekey("finish", PLACE, "--yes")
    assert (status, output) == (0, "programs write the new design\nremoved 1 old rows\n")

    async def is_over(db: sk.AsyncSession) -> None:
        assert await new_rows(db) == expected([sk.replace(ADA, points=7)])
        assert [user async for user in db.scan(User)] == []

    within(tmp_path, is_over)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["start", "pricing"], "the service pricing has no re-keyings; those that have: boosts"),
        (["start", "boosts"], "the service boosts has no re-keying with these settings; see its page"),
        (["start", "no.such.module:NAME"], "there is no module 'no.such.module'"),
        (["start", "tests.patterns.rekeying.users:USERS"], "USERS is not a ServiceDefinition"),
        (["start", PLACE, "--store", "memory:"], "--store memory: has no items: no other process can write to it"),
        (["finish", PLACE], "finish needs a person at a terminal who confirms it, --yes, or --dry-run"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    within(tmp_path, put_ada)
    store = [] if "--store" in arguments else ["--store", str(tmp_path)]
    assert main(["rekey", *arguments, *store]) == 2
    errors = capsys.readouterr().err
    assert words in errors
    assert errors.count("\n") == 1


def test_a_service_names_its_re_keying(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "boosts.toml"
    config.write_text('[boosts]\ndesign = "v1"\nmoving_to = "v2"\n')
    within(tmp_path / "data", put_ada)
    given = ["boosts", "--config", str(config), "--store", str(tmp_path / "data")]
    assert main(["rekey", "start", *given, "--name", "boosts-v3"]) == 2
    assert "has no re-keying 'boosts-v3'; it has boosts-v2" in capsys.readouterr().err


# The tables of the re-keying are made by its start, and by the service.
def test_before_the_start_there_may_be_no_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "boosts.toml"
    config.write_text('[boosts]\ndesign = "v1"\nmoving_to = "v2"\n')
    with sk.client(tmp_path / "data"):
        pass
    given = ["boosts", "--config", str(config), "--store", str(tmp_path / "data")]
    assert main(["rekey", "status", *given]) == 0
    assert capsys.readouterr().out == "boosts-v2: not started\n"
    assert main(["rekey", "switch", *given]) == 2
    assert capsys.readouterr().err == (
        "sortkey rekey: boosts-v2: not started in this store; sortkey rekey start begins it\n"
    )
    for action in (["check"], ["back"], ["finish", "--yes"]):
        assert main(["rekey", *action, *given]) == 1
        assert "the re-keying boosts-v2 was not started in this store; start it first" in capsys.readouterr().err

"""`sortkey load pricing` on the command line."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import sortkey as sk
from sortkey.cli.main import main
from sortkey_services.pricing.load.price_load import PriceLoadRecord
from sortkey_services.pricing.model import CHANGES, PRICES
from sortkey_services.pricing.reads import page_request
from sortkey_services.pricing.service import PricingService
from tests.sortkey_services.pricing.load.files import csv_file, priced

STORES = (
    *(pytest.param(name, marks=pytest.mark.slow) for name in ("disk", "endpoint")),
    pytest.param("local", marks=pytest.mark.oracle),
)
"""Not in memory, where nobody else would see what was loaded."""


def load(folder: Path, path: Path, *options: str) -> int:
    return main(["load", "pricing", str(path), "--store", str(folder / "data"), *options])


@pytest.fixture(autouse=True)
def _existing(tmp_path: Path) -> None:
    sk.connect(tmp_path / "data").close()


def amounts(store: Path | str, of: str) -> dict[str, Decimal]:
    """What a store's products cost now."""

    async def read() -> dict[str, Decimal]:
        async with sk.async_connect(store, tables=[PRICES, CHANGES]) as session:
            page = await PricingService(session).base_prices(of, page_request(first=2048))
            return {price.product: price.amount for price in page.items}

    return asyncio.run(read())


@pytest.mark.parametrize("store", STORES, indirect=True)
def test_a_file_and_another_one_after_it(store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sk.connect(store).close()
    assert main(["load", "pricing", str(csv_file(tmp_path / "a.csv", *priced(3, 4))), "--store", store]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("loaded 12 prices in ")
    assert "sortkey load: loading a.csv: 12 rows" in said.err
    assert amounts(store, "00001")["P0002"] == Decimal("10.50")
    # Now there are prices: the next file is a bulk change, with history.
    second = csv_file(tmp_path / "b.csv", "00001,P0002,3.00")
    assert main(["load", "pricing", str(second), "--store", store, "--requested-by", "Ada"]) == 0
    assert capsys.readouterr().out.startswith("loaded 1 price in ")
    assert amounts(store, "00001")["P0002"] == Decimal("3.00")
    # And what it says again is skipped.
    third = csv_file(tmp_path / "c.csv", "00001,P0002,3.00", "00001,P0003,4.00")
    assert main(["load", "pricing", str(third), "--store", store]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("loaded 1 price in ")
    assert said.out.endswith("; 1 of 2 rows were unchanged\n")


@pytest.mark.slow
def test_files_are_loaded_one_after_the_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = csv_file(tmp_path / "a.csv", "7,P1,1.00"), csv_file(tmp_path / "b.csv", "7,P1,2.00", "7,P2,3.00")
    wrong, never = csv_file(tmp_path / "c.csv", "7,P1,x"), csv_file(tmp_path / "d.csv", "7,P1,9.00")
    files = [str(path) for path in (first, second, wrong, never)]
    assert main(["load", "pricing", *files, "--store", str(tmp_path / "data")]) == 2
    said = capsys.readouterr()
    assert [line.partition(" in ")[0] for line in said.out.splitlines()] == [
        f"{first}: loaded 1 price",
        f"{second}: loaded 2 prices",
    ]
    assert f"{wrong}, line 2: amount: must be from 0" in said.err
    assert amounts(tmp_path / "data", "7") == {"P1": Decimal("2.00"), "P2": Decimal("3.00")}


def test_mistakes_are_listed_and_nothing_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = csv_file(tmp_path / "a.csv", "7,P1,1.00", *["7,P2,x"] * 30)
    assert load(tmp_path, path) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith(f"{path}, line 3: amount: must be from 0")
    assert len(lines) == 20 + 1
    assert lines[-1] == "sortkey load: 30 rows are wrong; 10 more are not shown; nothing was written"
    assert amounts(tmp_path / "data", "7") == {}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["boosts", "a.csv"], "sortkey load: there is no load of 'boosts'; those that have one: pricing"),
        (["pricing", "b.csv"], "sortkey load: there is no file b.csv"),
        (["pricing", "a.csv", "--format", "xml"], "argument --format: invalid choice: 'xml'"),
        (["pricing", "a.csv", "--store", "memory:"], "sortkey load: --store memory: "),
        (["pricing", "a.csv", "--requested-by", ""], "sortkey load: requestedBy: must be a text of 1 to 256 bytes"),
        (["pricing", "empty.csv"], "sortkey load: empty.csv is empty; its first line names the columns"),
    ],
)
def test_what_cannot_be_loaded_is_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    csv_file(tmp_path / "a.csv", "7,P1,1.00")
    (tmp_path / "empty.csv").touch()
    try:
        status = main(["load", *arguments])
    except SystemExit as error:
        status = int(error.code or 0)
    assert status == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_parquet_needs_an_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.parquet").touch()

    def absent(name: str) -> Any:
        if name.startswith("pyarrow"):
            raise ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow")
        return import_module(name)

    monkeypatch.setattr("sortkey_services.pricing.load.price_files.import_module", absent)
    assert load(tmp_path, tmp_path / "a.parquet") == 2
    assert capsys.readouterr().err == "sortkey load: PyArrow is not installed; run: pip install 'sortkey[batch]'\n"


@pytest.mark.slow
def test_an_interrupted_load_of_another_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = csv_file(tmp_path / "a.csv", "7,P1,1.00")

    async def interrupted() -> None:
        async with sk.async_connect(tmp_path / "data", tables=[PRICES]) as session:
            await session.create_tables()
            record = PriceLoadRecord(load="prices", file="o.csv", size=1, modified=1, since=1, rows=9, direct=[4, 2])
            await session.put(record)

    asyncio.run(interrupted())
    assert load(tmp_path, path) == 2
    said = capsys.readouterr().err
    assert (
        "6 of 9 rows of o.csv are loaded, and then it was interrupted; load that file again, or add --abandon" in said
    )
    assert load(tmp_path, path, "--abandon") == 0
    assert amounts(tmp_path / "data", "7") == {"P1": Decimal("1.00")}


KILLED_AT_ITS_FIRST_ROWS = """
import os, signal, sys
from sortkey.cli.main import main
from sortkey_services.pricing.load.price_load import PriceLoad
run = PriceLoad.run
PriceLoad.run = lambda load, checked, _: run(load, checked, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
main(sys.argv[1:])
"""


# The processes of a killed load end with it, and the same command continues.
@pytest.mark.slow
@pytest.mark.faults
def test_a_killed_load_is_continued(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = csv_file(tmp_path / "a.csv", *priced(60, 500))
    arguments = ["load", "pricing", str(path), "--store", str(tmp_path / "data")]
    killed = subprocess.run([sys.executable, "-c", KILLED_AT_ITS_FIRST_ROWS, *arguments], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert main(arguments) == 0
    assert "continues after 0 of 30,000 rows" in capsys.readouterr().err
    for store in (0, 30, 59):
        assert len(amounts(tmp_path / "data", f"{store:05}")) == 500


@pytest.mark.parametrize("there", [True, False])
def test_it_creates_no_store(tmp_path: Path, capsys: pytest.CaptureFixture[str], there: bool) -> None:
    path, folder = csv_file(tmp_path / "a.csv", "7,P1,1.00"), tmp_path / "nothing"
    if there:
        folder.mkdir()
    assert main(["load", "pricing", str(path), "--store", str(folder)]) == 2
    assert capsys.readouterr().err.startswith(f"sortkey load: there is no store in {folder}; ")
    assert [*tmp_path.glob("nothing/**/*")] == []
    assert folder.exists() is there

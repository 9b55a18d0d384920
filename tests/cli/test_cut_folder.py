"""Commands on a data folder whose file was cut: one clear line, and an exit status that says so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.check.cut_folders import fill

SECONDS = 60
COMMANDS = [
    ["check", "DIR"],
    ["check", "DIR", "--discard-damaged"],
    ["doctor", "DIR"],
    ["backup", "DIR", "BACKUP"],
    ["db", "--data", "DIR", "--port", "0"],
    ["serve", "favourites", "--store", "DIR", "--port", "0"],
    ["follow", "favourites", "--store", "DIR"],
    ["recount", "favourites", "--store", "DIR"],
    ["load", "pricing", "FILE", "--store", "DIR"],
    ["audit", "sortkey_services.favourites.model", "--store", "DIR"],
    ["batch", "goals", "--rollback", "--store", "DIR"],
]


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.85, 0.999])
def test_a_cut_folder(tmp_path: Path, share: float) -> None:
    folder, prices = tmp_path / "data", tmp_path / "prices.csv"
    prices.write_text("store,product,amount\n1,1,1.00\n")
    fill(folder)
    data = folder / "data.mdb"
    with data.open("r+b") as file:
        file.truncate(int(data.stat().st_size * share))
    content = data.read_bytes()
    for command in COMMANDS:
        places = {"DIR": folder, "FILE": prices, "BACKUP": tmp_path / "data.gz"}
        given = [str(places.get(each, each)) for each in command]
        ended = subprocess.run(
            [sys.executable, "-m", "sortkey", *given], capture_output=True, text=True, timeout=SECONDS, check=False
        )
        lines = [line for line in (ended.stdout + ended.stderr).splitlines() if str(folder) in line or "page" in line]
        assert ended.returncode in (1, 2), (command, ended)
        assert any("is damaged: " in line or "the file ends before page" in line for line in lines), (command, ended)
        assert len(ended.stderr.splitlines()) <= 1, (command, ended)
        assert data.read_bytes() == content
        assert not places["BACKUP"].exists()

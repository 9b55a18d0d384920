"""`sortkey batch` and `sortkey load` with files on object storage: what they print, and what they leave behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from threading import Event

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sortkey as sk
from sortkey.cli.main import main
from sortkey_services.pricing.load.price_load import PriceLoadRecord
from tests.cli.test_batch import Command
from tests.cli.test_load import amounts
from tests.object_storage import Bucket, Request, rejected

HEADER = "store,product,amount\n"


@pytest.fixture(autouse=True)
def _existing(tmp_path: Path) -> None:
    sk.connect(tmp_path / "data").close()


def load(folder: Path, source: object, *options: str) -> int:
    return main(["load", "pricing", str(source), "--store", str(folder / "data"), *options])


def parquet(path: Path, **columns: list[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("stored", [False, True])
def test_a_folder_of_parquet(bucket: Bucket, tmp_path: Path, stored: bool, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "pr[i]ces 100%"
    parquet(folder / "date=2026-01-01" / "part-0.parquet", store=["7"], product=["P1"], amount=["1.00"])
    parquet(folder / "date=2026-01-02" / "part-0.parquet", store=["7"], product=["P2"], amount=["2.00"])
    for name in ("_SUCCESS", "_temporary/0/part-1.parquet", ".part-0.parquet.crc"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("no Parquet")
    source = bucket.upload(folder, f"{folder.name}/") if stored else folder
    assert load(tmp_path, source) == 0
    said = capsys.readouterr()
    assert said.out.startswith("loaded 2 prices in ")
    name = f"s3://{bucket.name}/pr[i]ces 100%/" if stored else folder.name
    assert f"sortkey load: loading {name}: 2 rows\n" in said.err
    assert ("sortkey load: copying " in said.err) is stored
    assert amounts(tmp_path / "data", "7") == {"P1": Decimal("1.00"), "P2": Decimal("2.00")}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "body"),
    [
        ("a b+%20[1].csv", b"store,product,amount\n7,P1,1.50\n"),
        ("é漢.JSONL", b'{"store": "7", "product": "P1", "amount": 1.5}\n'),
    ],
)
def test_one_object(bucket: Bucket, tmp_path: Path, key: str, body: bytes) -> None:
    assert load(tmp_path, bucket.put(key, body)) == 0
    assert amounts(tmp_path / "data", "7") == {"P1": Decimal("1.50")}


@pytest.mark.slow
def test_an_object_without_a_suffix(bucket: Bucket, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address = bucket.put("prices", f"{HEADER}7,P1,1.50\n".encode())
    assert load(tmp_path, address) == 2
    line = f"{address}: the format is not known by its suffix; give --format csv|jsonl|parquet"
    assert capsys.readouterr().err.splitlines()[-1] == f"sortkey load: {line}"
    assert load(tmp_path, address, "--format", "csv") == 0
    assert amounts(tmp_path / "data", "7") == {"P1": Decimal("1.50")}


# A person must find the line; where the copy was is of no use.
def test_mistakes_name_the_object_and_its_line(
    bucket: Bucket, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = bucket.put("in/a.csv", f"{HEADER}7,P1,1.00\n".encode())
    second = bucket.put("in/b.csv", f"{HEADER}7,P2,x\n7,P1,2.00\n".encode())
    assert load(tmp_path, bucket.address("in")) == 2
    said = [line for line in capsys.readouterr().err.splitlines() if "copying" not in line and "checking" not in line]
    assert said[0].startswith(f"{second}, line 2: amount: must be from 0")
    again = "has the BASE price of product P1 in store 7, channel ALL again, which"
    assert said[1:] == [
        f"{second}, line 3: {again} {first}, line 2 has",
        "sortkey load: 2 rows are wrong; nothing was written",
    ]
    assert amounts(tmp_path / "data", "7") == {}


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("nothing", "there is no object s3://{bucket}/nothing, and none below s3://{bucket}/nothing/"),
        ("two", "s3://{bucket}/two/a.csv is csv and s3://{bucket}/two/b.jsonl is jsonl; a folder has one format"),
        ("zip/", "s3://{bucket}/zip/a.csv.gz: the format is not known by its suffix; give --format csv|jsonl|parquet"),
        ("hive", "s3://{bucket}/hive/Store=7/a.csv: Store=7 is not read as a column; write store into the files"),
        ("bad.parquet", "s3://{bucket}/bad.parquet cannot be read as Parquet: "),
        ("empty.csv", "s3://{bucket}/empty.csv is empty; its first line names the columns: "),
    ],
)
def test_what_cannot_be_loaded_is_one_line(
    bucket: Bucket, tmp_path: Path, key: str, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("two/a.csv", "two/b.jsonl", "zip/a.csv.gz", "hive/Store=7/a.csv", "bad.parquet"):
        bucket.put(name, b"x")
    bucket.put("empty.csv", b"")
    assert load(tmp_path, bucket.address(key)) == 2
    said = [line for line in capsys.readouterr().err.splitlines() if "copying" not in line and "checking" not in line]
    assert len(said) == 1
    assert said[0].startswith(f"sortkey load: {line.format(bucket=bucket.name)}")


def test_credentials_that_have_expired(bucket: Bucket, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bucket.server.answer = lambda _: rejected("400 Bad Request", "ExpiredToken")
    assert load(tmp_path, bucket.address("a.csv")) == 2
    advice = "the AWS credentials have expired; renew them, for example by `aws sso login`"
    assert capsys.readouterr().err == f"sortkey load: s3://{bucket.name}/a.csv: {advice}\n"
    assert main(["load", "pricing", "gs://b/a.csv", "--store", str(tmp_path / "data")]) == 2
    line = "sortkey load: gs://b/a.csv: gs:// cannot be read; name a path, or s3://bucket/key\n"
    assert capsys.readouterr().err == line


# Copies are other files each time; a load goes on if the object is the same.
@pytest.mark.slow
def test_an_interrupted_load_of_an_object(bucket: Bucket, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address = bucket.put("a.csv", f"{HEADER}7,P1,1.00\n7,P2,2.00\n".encode())
    stopped: list[PriceLoadRecord] = []
    with pytest.MonkeyPatch.context() as patch:
        # The record of a load that was killed before its first row.
        async def kill(_: object, record: PriceLoadRecord, *__: object) -> None:
            stopped.append(record)
            raise KeyboardInterrupt

        patch.setattr("sortkey_services.pricing.load.price_load.PriceLoad._write_direct", kill)
        assert load(tmp_path, address) == 1
    assert (stopped[0].file, stopped[0].rows) == (str(address), 2)
    bucket.put("a.csv", f"{HEADER}7,P1,9.00\n7,P2,9.00\n".encode())
    capsys.readouterr()
    assert load(tmp_path, address) == 2
    assert f"0 of 2 rows of {address} are loaded, and then it was interrupted" in capsys.readouterr().err
    bucket.put("a.csv", f"{HEADER}7,P1,1.00\n7,P2,2.00\n".encode())
    assert load(tmp_path, address) == 0
    assert "continues after 0 of 2 rows" in capsys.readouterr().err
    assert amounts(tmp_path / "data", "7") == {"P1": Decimal("1.00"), "P2": Decimal("2.00")}


@pytest.mark.slow
def test_a_batch_of_stored_gold(bucket: Bucket, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = Command(tmp_path)
    address = bucket.upload(command.gold.folder, "gold/")
    assert command("--gold", str(address)) == 0
    assert "sortkey batch: copying gold: done in " in capsys.readouterr().err
    assert command.saved() == 32_000
    assert command("--gold", "gs://bucket/gold") == 2
    line = "sortkey batch: --gold gs://bucket/gold: gs:// cannot be read; name a path, or s3://bucket/key\n"
    assert capsys.readouterr().err == line


@pytest.mark.slow
@pytest.mark.parametrize(("name", "by"), [("batch", signal.SIGTERM), ("load", signal.SIGTERM), ("load", signal.SIGINT)])
def test_a_command_that_is_ended_leaves_no_copies(
    bucket: Bucket, tmp_path: Path, name: str, by: signal.Signals
) -> None:
    command = Command(tmp_path)
    bucket.upload(command.gold.folder, "gold/")
    bucket.put("a.csv", f"{HEADER}7,P1,1.00\n".encode())
    inputs = {
        "batch": ["batch", "goals", "--gold", f"s3://{bucket.name}/gold", "--rules", command.gold.rules],
        "load": ["load", "pricing", f"s3://{bucket.name}/a.csv"],
    }
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    asked, go = Event(), Event()

    def wait(_: Request) -> None:
        """Answers no request for a copy before the signal is sent."""
        if any(temporary.glob("sortkey-objects-*")):
            asked.set()
            go.wait(60)

    bucket.server.answer = wait
    command_line = [sys.executable, "-m", "sortkey", *inputs[name], "--store", command.store]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with subprocess.Popen(command_line, env=environment, stderr=subprocess.PIPE, text=True) as running:
        try:
            assert asked.wait(60)
            running.send_signal(by)
            go.set()
            _, said = running.communicate(timeout=60)
        finally:
            running.kill()
    assert running.returncode == 1
    assert said.splitlines()[-1].startswith(f"sortkey {name}: interrupted; ")
    assert list(temporary.iterdir()) == []

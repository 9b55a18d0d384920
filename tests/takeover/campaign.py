"""A table that another program wrote is taken over: audited, repaired while that program goes on, audited again.

The program's rows are known (see `legacy`), so every count and every row is compared exactly.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGKILL
from time import monotonic, sleep
from typing import Any, Final, NamedTuple

from sortkey.model.audit.finding import Kind
from tests.takeover.declared import LEGACY
from tests.takeover.legacy import Fields, Found, Row, build, intended, planted
from tests.takeover.old_client import all_rows, create_table, environment, old_client, put_all

MODULE: Final = "tests.takeover.declared"
ROOT: Final = Path(__file__).parents[2]
BATCH: Final = 25
WRITES_BESIDE: Final = 50
"""The old program makes so many writes before the repair begins, and again after it has ended."""

Written = dict[int, Fields | None]
"""What the old program wrote last, by the number of the row; None if it deleted the row."""


class Audited(NamedTuple):
    status: int
    report: dict[str, Any]
    seconds: float

    def counts(self, member: str = "rows") -> Counter[Found]:
        """The numbers of rows by finding."""
        findings = self.report["findings"]
        return Counter(
            {
                Found(each["class"], Kind(each["kind"]), each["subject"]): each[member]
                for each in findings
                if each[member]
            }
        )


class Result(NamedTuple):
    rows: int
    flawed: int
    writes: int
    kills: int
    """How often the repair was killed; it continued from its file."""
    loading_seconds: float
    found: Audited
    repaired: Audited
    clean: Audited


class OldProgram:
    """The process that goes on writing."""

    def __init__(self, url: str, table: str, rows: int, seed: int) -> None:
        command = [sys.executable, "-m", "tests.takeover.writer", url, table, str(rows), str(seed)]
        self._process = subprocess.Popen(
            command, cwd=ROOT, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.written: Written = {}
        self.writes = 0
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def wait_for_some(self) -> None:
        """Waits until it has made some more writes."""
        with self._changed:
            wanted = self.writes + WRITES_BESIDE
            self._changed.wait_for(lambda: self.writes >= wanted or not self._reader.is_alive())

    def stop(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._reader.join()
        assert self._process.wait() == 0

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            number, fields = json.loads(line)
            with self._changed:
                self.written[number] = fields
                self.writes += 1
                self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()
        self._process.stdout.close()


class Takeover:
    def __init__(self, url: str, prefix: str, rows: int, state: Path, seed: int = 1) -> None:
        """`state` is the file from which a repair continues."""
        self._url = url
        self._state = state
        self._store = f"{url}?prefix={prefix}"
        self._table = prefix + LEGACY.name
        self._client = old_client(url)
        self._rows = rows
        self._seed = seed

    def run(self, say: Callable[[str], None]) -> Result:
        began = monotonic()
        self._load()
        loading = monotonic() - began
        say(f"loaded {self._rows:,} rows in {loading:.0f} s")
        found = self._audit()
        say(f"audited in {found.seconds:.0f} s")
        assert found.status == 1
        assert found.report["rows"] == self._rows
        assert found.counts() == self._planted(repaired=True) + self._planted(repaired=False)
        with self._old_program() as program:
            repaired, kills = self._repair()
        say(f"repaired in {repaired.seconds:.0f} s, while the old program made {program.writes:,} writes")
        assert repaired.status == 1
        assert sum(repaired.counts("skipped").values()) == 0
        self._check_rows(program.written)
        assert self._audit().counts() == self._planted(repaired=False)
        self._repair_by_hand(program.written)
        clean = self._audit()
        say(f"audited in {clean.seconds:.0f} s: clean")
        assert (clean.status, clean.report["findings"]) == (0, [])
        flawed = sum(bool(planted(number).found) for number in range(self._rows))
        return Result(self._rows, flawed, program.writes, kills, loading, found, repaired, clean)

    def _load(self) -> None:
        create_table(self._client, self._table)
        for first in range(0, self._rows, BATCH):
            numbers = range(first, min(first + BATCH, self._rows))
            put_all(self._client, self._table, [planted(number).row for number in numbers])

    def _planted(self, *, repaired: bool) -> Counter[Found]:
        rows = (planted(number) for number in range(self._rows))
        return Counter(found for row in rows if row.is_repaired is repaired for found in row.found)

    def _audit(self, *flags: str) -> Audited:
        """Runs the command, as a user would."""
        began = monotonic()
        return _audited(self._start_audit(*flags), began)

    def _repair(self) -> tuple[Audited, int]:
        """Repairs, and is killed as soon as there is something to continue from; a small table is done before."""
        flags = ("--repair", "--upgrade", "--segments", "4", "--resume", str(self._state))
        began = monotonic()
        process = self._start_audit(*flags)
        while process.poll() is None and not self._state.exists():
            sleep(0.01)
        process.kill()
        if process.wait() != -SIGKILL:
            return _audited(process, began), 0
        process.communicate()
        return _audited(self._start_audit(*flags), began), 1

    def _start_audit(self, *flags: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "sortkey", "audit", MODULE, "--store", self._store, "--json", *flags]
        return subprocess.Popen(
            command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    @contextmanager
    def _old_program(self) -> Iterator[OldProgram]:
        program = OldProgram(self._url, self._table, self._rows, self._seed)
        try:
            program.wait_for_some()
            yield program
            program.wait_for_some()
        finally:
            program.stop()

    def _check_rows(self, written: Written) -> None:
        """Every row is what the old program wrote last, with the right keys; nothing is lost, and nothing came back."""
        rows = [self._after_repair(number, written) for number in range(self._rows)]
        expected, found = (
            _by_key([row for row in rows if row is not None]),
            _by_key(all_rows(self._client, self._table)),
        )
        for key in expected.keys() | found.keys():
            assert found.get(key) == expected.get(key), (key, found.get(key), expected.get(key))

    def _after_repair(self, number: int, written: Written) -> Row | None:
        fields = written.get(number, intended(number))
        if fields is None:
            return None
        row, _, is_repaired = planted(number)
        if is_repaired:
            return build(fields)
        # Of such a row, the old program has written only what no class declares.
        return {**row, "note": {"S": fields["note"]}, "checksum": {"B": fields["note"].encode()}}

    def _repair_by_hand(self, written: Written) -> None:
        """The rows that a repair must leave to their owner."""
        for number in range(self._rows):
            row, _, is_repaired = planted(number)
            if not is_repaired:
                self._client.delete_item(TableName=self._table, Key={"PK": row["PK"], "SK": row["SK"]})
                put_all(self._client, self._table, [build(written.get(number) or intended(number))])


def _audited(process: subprocess.Popen[str], began: float) -> Audited:
    printed, errors = process.communicate()
    assert errors == ""
    (report,) = json.loads(printed)["tables"]
    return Audited(process.returncode, report, monotonic() - began)


def _by_key(rows: list[Row]) -> dict[tuple[str, str], Row]:
    return {(row["PK"]["N"], row["SK"]["S"]): row for row in rows}

"""The access log: what a line contains, and that requests do not wait for its reader."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from sortkey.server import access_log
from sortkey.server.access_log import CannotLog, Entry, FileLog, NoLog, TimeText, open_log
from sortkey.server.middleware import Middleware
from tests.server.calling import call
from tests.server.conftest import WithApp


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def entry(number: int) -> Entry:
    return Entry("2026-08-24T12:30:00.000Z", str(number), "127.0.0.1", "GET", "/", 200, 0.1)


def test_each_request_is_a_line(with_app: WithApp, tmp_path: Path) -> None:
    path = tmp_path / "access.log"
    log = open_log(str(path))

    async def use(middleware: Middleware) -> None:
        await call(middleware, "POST", "/notes/s/search", {"names": ["a"]}, x_request_id="one")
        await call(middleware, "GET", '/not"hing\n', x_request_id="two")
        await call(middleware, "GET", "/notes-raw", x_request_id="three")

    with_app(use, log=log)
    log.close()
    fast, nothing, raw = lines(path)
    assert fast.keys() == {"time", "id", "client", "method", "path", "status", "milliseconds"}
    assert (fast["id"], fast["client"], fast["method"]) == ("one", "127.0.0.1", "POST")
    assert (fast["path"], fast["status"]) == ("/notes/s/search", 200)
    assert (nothing["id"], nothing["path"], nothing["status"]) == ("two", '/not"hing\n', 404)
    assert nothing["error"] == "not_found"
    assert (raw["id"], raw["status"]) == ("three", 200)


def test_a_file_is_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "access.log"
    for number in range(2):
        log = open_log(str(path))
        log.write(entry(number))
        log.close()
    assert [line["id"] for line in lines(path)] == ["0", "1"]


# A pipe that is not read holds 64 KiB; the server must not block when it is full.
def test_a_reader_that_does_not_read_blocks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access_log, "WAITING_LINES", 1000)
    monkeypatch.setattr(access_log, "CLOSE_SECONDS", 0.01)
    read, write = os.pipe()
    log = FileLog(write)
    for number in range(20_000):
        log.write(entry(number))
    log.close()
    # Once it is read, lines are whole, in order, and what was left out is counted.
    with os.fdopen(read, "rb") as pipe:
        got = [json.loads(line) for line in pipe]
    numbers = [int(line["id"]) for line in got if "id" in line]
    assert numbers == sorted(numbers)
    assert len(numbers) + sum(line.get("leftOut", 0) for line in got) == 20_000


def test_a_file_that_cannot_be_opened() -> None:
    with pytest.raises(CannotLog, match="/dev/null/log: Not a directory"):
        open_log("/dev/null/log")


def test_off_is_no_log() -> None:
    assert isinstance(open_log("off"), NoLog)


def test_the_time_has_milliseconds_and_its_zone() -> None:
    text = TimeText()
    assert text.at(1787574600.0019) == "2026-08-24T12:30:00.001Z"
    assert text.at(1787574600.9999) == "2026-08-24T12:30:00.999Z"
    assert text.at(1787574601.5) == "2026-08-24T12:30:01.500Z"

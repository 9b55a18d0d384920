"""Runs a program of ours and records which files its Python calls enter, between SIGUSR1 and SIGUSR2.

`python -m tests.walks.traced FILE COMMAND …` runs `sortkey COMMAND …`. SIGUSR1 starts a recording and creates FILE.
SIGUSR2 ends it and writes one line to FILE: a JSON object of each file entered and the files it was entered from.
"""

from __future__ import annotations

import asyncio.runners
import json
import os
import signal
import sys
import threading
from pathlib import Path
from types import FrameType

import sortkey
import sortkey_services

SORTKEY = str(Path(sortkey.__file__).parent) + os.sep
SERVICES = str(Path(sortkey_services.__file__).parent) + os.sep
RUNNERS = asyncio.runners.__file__
OUTSIDE = "-"
"""Entered by the event loop, a thread's start, or the program itself."""


class Recorder:
    """A profile function. Calls from one file into another are counted; calls within a file are not."""

    def __init__(self) -> None:
        self.on = False
        self.entered: dict[str, set[str]] = {}

    def start(self) -> None:
        self.entered = {}
        self.on = True

    def stop(self) -> dict[str, list[str]]:
        self.on = False
        return {name: sorted(callers) for name, callers in self.entered.items()}

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if not self.on or event != "call":
            return
        name = frame.f_code.co_filename
        if not name.startswith((SORTKEY, SERVICES)):
            return
        origin = _origin(frame.f_back)
        if origin != name:
            self.entered.setdefault(_shown(name), set()).add(_shown(origin))


def _shown(name: str) -> str:
    """As docs/internals/architecture.md names files."""
    if name.startswith(SERVICES):
        return f"sortkey_services/{name.removeprefix(SERVICES)}"
    return name.removeprefix(SORTKEY)


def _origin(caller: FrameType | None) -> str:
    """The file of ours that called, past the frames of libraries; what the event loop calls comes from outside."""
    while caller is not None:
        name = caller.f_code.co_filename
        if name.startswith((SORTKEY, SERVICES)):
            return name
        if name == RUNNERS:
            return OUTSIDE
        caller = caller.f_back
    return OUTSIDE


def trace(recorder: Recorder, told: Path) -> None:
    """Every thread from here on is recorded when a signal asks for it."""

    def start(*_: object) -> None:
        told.write_text("")
        recorder.start()

    def stop(*_: object) -> None:
        beside = told.with_suffix(".new")
        beside.write_text(json.dumps(recorder.stop()) + "\n")
        os.replace(beside, told)

    signal.signal(signal.SIGUSR1, start)
    signal.signal(signal.SIGUSR2, stop)
    threading.setprofile(recorder)
    sys.setprofile(recorder)


if __name__ == "__main__":
    from sortkey.cli.main import main

    trace(Recorder(), Path(sys.argv[1]))
    main(sys.argv[2:])

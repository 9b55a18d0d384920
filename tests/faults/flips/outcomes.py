"""What a reader and the check make of a folder in which one bit is flipped."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Final, NamedTuple
from unittest.mock import patch

import orjson

from sortkey.engine.check.database_check import check
from sortkey.engine.rows import records
from sortkey.errors import InternalServerError
from sortkey.storage import StorageError, environment
from tests.faults.flips.folder import STORED, Answers, expected_answers, read_all, write_folder

EQUAL: Final = "all answers are equal"
UNREAD: Final = "all answers are equal, but not all that is stored"
ERROR: Final = "an answer is an error that names the damage"
REFUSED: Final = "the folder is not opened"
WRONG: Final = "an answer is wrong"
UNCLEAR: Final = "an error that says nothing"
KILLED: Final = "the process is killed by a signal"

PAGE: Final = 4096
LONGEST_SECONDS: Final = 60

CLEAN, NAMED = "finds nothing", "names the damage"


class Outcome(NamedTuple):
    what: str
    detail: str


class Opening(NamedTuple):
    """How a folder is opened and checked."""

    name: str
    checked_bytes: int
    checked: bool


SMALL: Final = Opening("small folder", environment.CHECKED_BYTES, True)
"""All of it is checked when it is opened."""
LARGE: Final = Opening("large folder", 0, False)
"""As if it were large, and read before its check has run."""
LARGE_CHECKED: Final = Opening("large folder after its check", 0, True)
OPENINGS: Final = (SMALL, LARGE, LARGE_CHECKED)


def outcome_of_reads(folder: Path, expected: Answers, checked: bool = True) -> Outcome:
    """The worst of what reading everything comes to. Raises errors that do not say what is damaged."""
    worst = Outcome(EQUAL, "")
    try:
        for question, ask in read_all(folder, checked):
            try:
                is_equal = ask() == expected[question]
            except InternalServerError as error:
                worst = Outcome(ERROR, error.message)
                continue
            if not is_equal and question != STORED:
                return Outcome(WRONG, question)
            if not is_equal and worst.what == EQUAL:
                worst = Outcome(UNREAD, question)
    except StorageError as error:
        return Outcome(REFUSED, str(error))
    return worst


def outcome_of_check(folder: Path) -> Outcome:
    try:
        problems = check(folder).problems
    except StorageError as error:
        return Outcome(NAMED, str(error))
    return Outcome(NAMED, problems[0]) if problems else Outcome(CLEAN, "")


def in_child(call: Callable[[], Outcome]) -> Outcome:
    """The result of a call in a forked process, or how that process died.

    This process must have no other thread, and nothing open that must not be open across a fork.
    """
    receiver, sender = os.pipe()
    child = os.fork()
    if not child:
        outcome: Outcome | None = None
        try:
            signal.alarm(LONGEST_SECONDS)
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
            outcome = call()
        finally:
            told = (UNCLEAR, repr(sys.exc_info()[1])) if outcome is None else tuple(outcome)
            os.write(sender, orjson.dumps(told))
            os._exit(0)
    os.close(sender)
    with os.fdopen(receiver, "rb") as results:
        received = results.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status < 0 or not received:
        return Outcome(KILLED, f"exit {status}")
    return Outcome(*orjson.loads(received))


class Flips:
    """Flips bits of a folder, each time of a new copy."""

    def __init__(self, scratch: Path) -> None:
        self._sound = scratch / "sound"
        self._flipped = scratch / "flipped"
        write_folder(self._sound)
        self._bytes = (self._sound / "data.mdb").read_bytes()
        (self._sound / "lock.mdb").unlink()
        self.expected: Answers = expected_answers(self._sound)
        (self._sound / "lock.mdb").unlink()
        # The collector would touch, and so copy, what children share with this process.
        gc.freeze()
        self.pages = len(self._bytes) // PAGE

    def bits(self, random: Random, count: int) -> Iterator[int]:
        """Bits of every page in turn."""
        for number in range(count):
            yield 8 * PAGE * (number % self.pages) + random.randrange(8 * PAGE)

    def flip(self, bit: int, opening: Opening) -> tuple[Outcome, Outcome]:
        """What the reader and the check make of a flipped bit."""
        damaged = bytearray(self._bytes)
        damaged[bit // 8] ^= 1 << bit % 8
        reads = self._outcome(damaged, partial(self._read, opening))
        return reads, self._outcome(damaged, partial(outcome_of_check, self._flipped))

    def _read(self, opening: Opening) -> Outcome:
        with (
            patch.object(environment, "CHECKED_BYTES", opening.checked_bytes),
            patch.object(records, "CHECKED_BYTES", opening.checked_bytes),
        ):
            return outcome_of_reads(self._flipped, self.expected, opening.checked)

    def _outcome(self, damaged: bytearray, call: Callable[[], Outcome]) -> Outcome:
        shutil.rmtree(self._flipped, ignore_errors=True)
        self._flipped.mkdir()
        (self._flipped / "data.mdb").write_bytes(damaged)
        return in_child(call)


def is_failure(read: Outcome, checked: Outcome) -> bool:
    """A wrong answer, an error that says nothing, the death of a process, or damage that the check does not name."""
    if read.what in (WRONG, UNCLEAR, KILLED) or checked.what in (UNCLEAR, KILLED):
        return True
    return read.what != EQUAL and checked.what == CLEAN

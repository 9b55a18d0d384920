"""A disk that returns other bytes than were written: one bit of what a simulation leaves is flipped.

    harmless   every answer is as before
    error      an answer is an error that says what is damaged; the others are as before
    refused    the folder is not opened

Anything else is a failure, and so is damage that the check does not name.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Final
from unittest.mock import patch

from sortkey.clock import Clock
from sortkey.engine.check.database_check import check
from sortkey.engine.database import Database
from sortkey.engine.rows import records
from sortkey.errors import InternalServerError
from sortkey.storage import StorageError
from tests.faults.simulation.disk import DATA

HARMLESS, ERROR, REFUSED = "harmless", "error", "refused"
OUTCOMES: Final = (HARMLESS, ERROR, REFUSED)
LOGGERS: Final = (logging.getLogger(records.__name__),)

Question = Callable[[Database], object]


def answers_of(folder: Path, clock: Clock, questions: tuple[Question, ...]) -> list[object]:
    """The answers, or errors in their place."""
    database = Database(folder, clock)
    try:
        return [_answer(database, question) for question in questions]
    finally:
        database.close()


def _answer(database: Database, question: Question) -> object:
    try:
        return question(database)
    except InternalServerError as error:
        return error


def outcome_of_flip(random: Random, folder: Path, clock: Clock, questions: tuple[Question, ...]) -> str:
    """Flip a bit of a copy of the folder. Raises AssertionError if an answer is wrong, or the check finds nothing."""
    expected = answers_of(folder, clock, questions)
    copy = folder.with_name("damaged")
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    data = bytearray((folder / DATA).read_bytes())
    bit = random.randrange(8 * len(data))
    data[bit // 8] ^= 1 << bit % 8
    (copy / DATA).write_bytes(data)
    with _quiet():
        outcome = _outcome(copy, clock, questions, expected, bit)
        assert outcome == HARMLESS or _is_named(copy), f"the check finds nothing after a flip of bit {bit}"
    return outcome


def _outcome(folder: Path, clock: Clock, questions: tuple[Question, ...], expected: list[object], bit: int) -> str:
    try:
        found = answers_of(folder, clock, questions)
    except StorageError:
        return REFUSED
    for answer, right in zip(found, expected, strict=True):
        is_error = isinstance(answer, InternalServerError) and "damaged" in answer.message
        assert is_error or answer == right, f"a wrong answer after a flip of bit {bit}: {answer}"
    return HARMLESS if found == expected else ERROR


def _is_named(folder: Path) -> bool:
    try:
        return check(folder).problems != []
    except StorageError:
        return True


@contextmanager
def _quiet() -> Iterator[None]:
    with ExitStack() as patches:
        for logger in LOGGERS:
            patches.enter_context(patch.object(logger, "disabled", True))
        yield

"""`sortkey db` with injected failures, as programs that a fork server starts.

Answers to writes that return attributes fail: while they are made, or so badly that they never come.
"""

from __future__ import annotations

from multiprocessing.connection import Connection as Pipe
from unittest.mock import patch

from sortkey.engine.operations.answers import to_json
from sortkey.engine.tables.core import Answer
from sortkey.http import connection
from sortkey.wire import endpoint
from sortkey.wire.commit_scheduler import PendingWrite
from tests.faults.crash.endpoint import serve

GONE_SECONDS = 1
"""Instead of a minute."""


def fails(folder: str, seed: int, log: Pipe) -> None:
    def broken(answer: Answer) -> bytes:
        if "Attributes" in answer:
            raise TypeError("Integer exceeds 64-bit range")
        return to_json(answer)

    with patch.object(endpoint, "to_json", broken), patch.object(connection, "GONE_SECONDS", GONE_SECONDS):
        serve(folder, seed, log)


def never_comes(folder: str, seed: int, log: Pipe) -> None:
    answer = PendingWrite.answer

    def silent(write: PendingWrite) -> None:
        if not (isinstance(write.result, dict) and "Attributes" in write.result):
            answer(write)

    with patch.object(PendingWrite, "answer", silent), patch.object(connection, "GONE_SECONDS", GONE_SECONDS):
        serve(folder, seed, log)

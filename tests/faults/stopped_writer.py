"""`python -m tests.faults.stopped_writer`: how long reads take while another process is stopped in a write.

Prints the latency of GetItem from `sortkey db` alone, then with four clients whose writes wait for the stopped process.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import Final

from tests.storage.conftest import Child
from tests.wire.serving import RawClient, ServerProcess, item, request, table

READS: Final = 5_000
WRITERS: Final = 4
KEY: Final = {"TableName": "orders", "Key": item(1)}


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="sortkey-stopped-") as folder:
        server = ServerProcess("--data", folder, "--write-wait", "1")
        try:
            with closing(RawClient(server.url)) as reader:
                reader.call("CreateTable", **table("orders"))
                reader.call("PutItem", TableName="orders", Item=item(1))
                _print("alone", reader)
                _print_while_stopped(Path(folder), server.url, reader)
        finally:
            server.kill()


def _print_while_stopped(folder: Path, url: str, reader: RawClient) -> None:
    answers: list[int] = []
    ended = threading.Event()

    def write() -> None:
        with closing(RawClient(url)) as writer:
            while not ended.is_set():
                writer.send(request("PutItem", {"TableName": "orders", "Item": item(2)}))
                answers.append(writer.answer().status)

    with Child("hold_transaction", folder, 0) as stopped:
        assert stopped.line() == "holding"
        os.kill(stopped.pid, signal.SIGSTOP)
        writers = [threading.Thread(target=write) for _ in range(WRITERS)]
        for writer in writers:
            writer.start()
        # Until writes have waited too long twice.
        while len(answers) < 2 * WRITERS:
            _print("while another writer is stopped", reader)
        ended.set()
        stopped.kill()
    for writer in writers:
        writer.join()
    statuses = {status: answers.count(status) for status in sorted(set(answers))}
    sys.stdout.write(f"writes meanwhile, by status: {statuses}\n")


def _print(when: str, reader: RawClient) -> None:
    seconds = []
    for _ in range(READS):
        began = perf_counter()
        reader.call("GetItem", **KEY)
        seconds.append(perf_counter() - began)
    seconds.sort()
    p50, p99, most = (seconds[int(READS * part)] * 1e3 for part in (0.5, 0.99, 0.9999))
    sys.stdout.write(f"GetItem {when}: p50 {p50:.2f} ms, p99 {p99:.2f} ms, most {most:.2f} ms\n")


if __name__ == "__main__":
    main()

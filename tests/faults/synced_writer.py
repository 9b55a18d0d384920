"""Writes whose system calls a test traces: `python -m tests.faults.synced_writer FOLDER TIMES`."""

from __future__ import annotations

import os
import sys

import sortkey
from tests.faults import bank


def main(folder: str, times: int) -> None:
    with sortkey.client(folder) as client:
        bank.found(client)
        giver, receiver, *_ = bank.ACCOUNTS
        for number in range(times):
            os.write(sys.stdout.fileno(), b"asked\n")
            bank.transfer(client, "mover", f"token-{number}", giver, receiver, 1)
            os.write(sys.stdout.fileno(), b"answered\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

"""A process that holds the write lock of a folder, as one that was stopped in a write does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from sortkey.storage.write_lock import WRITE_LOCK_FILE

# Without an import of Sortkey, which would take most of the time of a test.
PROGRAM = """
import fcntl, os, sys
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
fcntl.lockf(file, fcntl.LOCK_EX)
print("holding", flush=True)
sys.stdin.read()
"""


class LockHolder(subprocess.Popen[str]):
    """Stopped by SIGSTOP; its end releases the lock."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-I", "-S", "-c", PROGRAM, str(folder / WRITE_LOCK_FILE)]
        super().__init__(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.stdout is not None
        assert self.stdout.readline() == "holding\n"
        os.kill(self.pid, signal.SIGSTOP)

    def __exit__(self, *_: object) -> None:
        self.kill()
        super().__exit__(None, None, None)

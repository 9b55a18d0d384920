"""A disk that is slow to sync, and one that fails."""

from __future__ import annotations

import errno
import os
import time
from typing import Final

import lmdb

from sortkey.engine.faults.faults import Faults

FAILURE: Final = f"mdb_txn_commit: {os.strerror(errno.EIO)}"


class DiskFaults:
    def __init__(self, faults: Faults) -> None:
        self._slow = faults.slow_sync
        self._failing = faults.failing_sync
        self._random = faults.random("failing_sync")

    def before_commit(self) -> None:
        """Raises what LMDB raises if pages cannot be synced. Nothing of the commit is kept then."""
        if self._slow:
            time.sleep(self._slow)
        if self._failing and self._random.random() < self._failing:
            error = lmdb.Error(FAILURE)
            # LMDB's binding sets it, except in errors that are made by hand.
            vars(error)["code"] = errno.EIO
            raise error

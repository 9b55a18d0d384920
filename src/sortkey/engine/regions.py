"""Several regions in one process, for tests and for looking: a store for each, and a thread that replicates.

    eu-west-1 ──── us-east-1        A link is two ways. One that is cut carries nothing, neither writes nor changes of
          ╲        ╱                the list of replicas; what waits is sent when it is healed. Every region sends its
         ap-south-1                 own writes to every other one, and forwards nothing.

The state of the replication is in the stores: what a region has still to send waits there, however long. Cuts and the
lag are of this process alone.
"""

from __future__ import annotations

import fcntl
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations, permutations
from pathlib import Path
from typing import IO, Any, Final, Self

from sortkey.clock import DEADLINE, Clock, monotonic
from sortkey.engine.database import Database
from sortkey.engine.replication.membership import align
from sortkey.engine.replication.transfer import (
    complete,
    forget_deleted,
    known_everywhere,
    queue_all_rows,
    send,
    waiting,
)
from sortkey.engine.rows import records
from sortkey.engine.rows.catalog_entries import TableEntry
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables.core import Settings
from sortkey.engine.tables.replicas import replica_in
from sortkey.storage import FolderBusy, StorageError

POLL_SECONDS: Final = 0.05
"""How often it looks for what another process has written, and for what the lag has held back."""
WRITE_WAIT_SECONDS: Final = 1.0
PAUSE_SECONDS: Final = 1.0
"""After an error of a link."""
LOCK: Final = "regions.lock"
PRODUCT: Final = "Sortkey (regions)"

_logger = logging.getLogger(__name__)

Link = tuple[str, str]


class Regions:
    """The stores of some regions, each in its folder of `data`, or all in memory if that is None."""

    def __init__(
        self,
        names: Sequence[str],
        data: Path | None = None,
        *,
        lag: float = 0.0,
        clocks: Mapping[str, Clock] | None = None,
        buckets: Path | None = None,
    ) -> None:
        """`lag` is how many seconds a write takes to another region at least. Raises StorageError if another process
        replicates between these folders."""
        self.lag = lag
        self._lock = None if data is None else _lock(data)
        self._cut: set[Link] = set()
        self._pauses: dict[Link, float] = {}
        self._turn = threading.Lock()
        """Held by the thread that replicates."""
        self._woken = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sortkey-regions", daemon=True)
        self._stop_listening: list[Callable[[], None]] = []
        self.databases: dict[str, Database] = {}
        try:
            for name in names:
                folder = None if data is None else data / name
                settings = Settings(region=name, buckets=buckets)
                clock = None if clocks is None else clocks.get(name)
                database = self.databases[name] = Database.open(folder, clock, settings)
                if database.settings.region != name:
                    raise StorageError(f"{folder} is of the region {database.settings.region}, not {name}")
                database.store.write(partial(_keep_region, name.encode()))
        except BaseException:
            self._close_databases()
            raise
        for database in self.databases.values():
            database.peers = self.databases
            database.product = PRODUCT
            self._stop_listening.append(database.signal.listen(lambda _streams: self._woken.set()))

    def start(self) -> Self:
        """Replicate from now on, in a thread."""
        self._thread.start()
        return self

    def close(self) -> None:
        """Stop replicating, and close the stores. What was not sent is sent when they are opened again."""
        for stop in self._stop_listening:
            stop()
        self._closing.set()
        self._woken.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._close_databases()

    def _close_databases(self) -> None:
        for database in self.databases.values():
            database.close()
        if self._lock is not None:
            self._lock.close()

    @property
    def names(self) -> list[str]:
        return [*self.databases]

    def cut(self, *names: str) -> None:
        """Cut the link between two regions; or all links of one region, which is given alone."""
        links = self._links_of(names)
        # What is under way arrives first.
        with self._turn:
            self._cut |= links

    def heal(self, *names: str) -> None:
        """Undo `cut`; without regions, heal all links."""
        links = self._links_of(names) if names else set(self._all_links())
        with self._turn:
            self._cut -= links
        self._woken.set()

    def set_lag(self, seconds: float) -> None:
        if not seconds >= 0:
            raise ValueError(f"the lag is a number of seconds from 0 on, not {seconds!r}")
        self.lag = seconds
        self._woken.set()

    def _links_of(self, names: Sequence[str]) -> set[Link]:
        for name in names:
            if name not in self.databases:
                raise ValueError(f"there is no region {name!r}: the regions are {', '.join(self.databases)}")
        if not 1 <= len(names) <= 2 or len({*names}) < len(names):
            raise ValueError("a link is between two regions; one region alone stands for all of its links")
        return {link for link in self._all_links() if set(names) <= set(link)}

    def _all_links(self) -> Iterator[Link]:
        return combinations(self.databases, 2)

    def _open_links(self) -> list[Link]:
        """In both directions."""
        both = permutations(self.databases, 2)
        return [(one, other) for one, other in both if not self._cut & {(one, other), (other, one)}]

    def state(self) -> dict[str, Any]:
        """For people and scripts: the lag, the links that are cut, and how many writes wait on each way."""
        queued = {
            f"{source} to {target}": sum(
                waiting(self.databases[source], name, target) for name in _replicated(self.databases[source])
            )
            for source, target in permutations(self.databases, 2)
        }
        return {
            "regions": self.names,
            "lag": self.lag,
            "cut": sorted(list(link) for link in self._cut),
            "waiting": {way: number for way, number in queued.items() if number},
        }

    def settle(self) -> None:
        """Return when everything that was written before has arrived, but over links that are cut. It waits for no
        lag."""
        while self.replicate(lag=0.0):
            pass

    def replicate(self, lag: float | None = None) -> bool:
        """Do one round of all that is to be done now; whether there was anything. Raises errors."""
        with self._turn:
            done = False
            for link in self._open_links():
                done |= self._over(link, self.lag if lag is None else lag)
            return self._forget() or done

    def _over(self, link: Link, lag: float) -> bool:
        source, target = (self.databases[name] for name in link)
        done = False
        for name in _replicated(source):
            if align(source, target, name):
                # Indexes to be filled, and tables to be emptied.
                source.janitor.wake()
                target.janitor.wake()
                done = True
            done |= queue_all_rows(source, name, link[1])
            done |= send(source, target, name, lag)
            done |= complete(source, name, link[1])
        return done

    def _forget(self) -> bool:
        """Forget deleted rows that every replica has deleted."""
        groups: dict[str, list[tuple[Database, str]]] = {}
        for database in self.databases.values():
            for name, entry in _replicated(database).items():
                assert entry.replication is not None
                groups.setdefault(entry.replication.group, []).append((database, name))
        done = False
        for members in groups.values():
            if not _is_complete(members):
                continue
            until = min(known_everywhere(database, name) for database, name in members)
            for database, name in members:
                done |= forget_deleted(database, name, until)
        return done

    def _run(self) -> None:
        while not self._closing.is_set():
            self._woken.clear()
            # Links take turns, so that one that fails does not delay the others.
            done = [self._survive(link) for link in self._open_links()]
            if not any(done):
                self._survive_forgetting()
                self._woken.wait(POLL_SECONDS)

    def _survive(self, link: Link) -> bool:
        if self._closing.is_set() or monotonic() < self._pauses.get(link, 0.0):
            return False
        DEADLINE.set(monotonic() + WRITE_WAIT_SECONDS)
        try:
            with self._turn:
                # It may have been cut meanwhile.
                return link in self._open_links() and self._over(link, self.lag)
        except FolderBusy as busy:
            _logger.debug("%s; the next round tries again", busy)
        except Exception:
            _logger.exception("nothing was sent from %s to %s; tried again in %g s", *link, PAUSE_SECONDS)
            self._pauses[link] = monotonic() + PAUSE_SECONDS
        return False

    def _survive_forgetting(self) -> None:
        DEADLINE.set(monotonic() + WRITE_WAIT_SECONDS)
        try:
            with self._turn:
                self._forget()
        except FolderBusy as busy:
            _logger.debug("%s; the next round tries again", busy)
        except Exception:
            _logger.exception("deleted rows were not forgotten; the next round tries again")


def _replicated(database: Database) -> dict[str, TableEntry]:
    with database.read() as snapshot:
        tables = database.catalog.tables(snapshot)
    return {name: table.entry for name, table in tables.items() if table.entry.replication is not None}


def _is_complete(members: Sequence[tuple[Database, str]]) -> bool:
    """Whether each of them lists exactly the others."""
    regions = {database.settings.region for database, _ in members}
    for database, name in members:
        entry = _replicated(database).get(name)
        if entry is None or entry.replication is None:
            return False
        listed = {each.region for each in entry.replication.replicas if replica_in(entry, each.region)}
        if listed != regions - {database.settings.region}:
            return False
    return True


def _keep_region(name: bytes, batch: WriteBatch) -> None:
    """Other processes that open the folder alone are told."""
    if batch.get_record(records.REGION) is None:
        batch.put_record(records.REGION, name)


def _lock(data: Path) -> IO[bytes]:
    data.mkdir(parents=True, exist_ok=True)
    lock = (data / LOCK).open("wb")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise StorageError(f"another process replicates between the regions in {data}: use its addresses") from None
    return lock

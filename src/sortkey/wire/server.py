"""The endpoint of one database on sockets; the caller closes the database when it has stopped."""

from __future__ import annotations

import secrets

from sortkey.engine.database import Database
from sortkey.http.host import Host
from sortkey.http.prometheus import Samples, merged
from sortkey.wire.authentication import Authentication
from sortkey.wire.commit_scheduler import CommitScheduler
from sortkey.wire.endpoint import Endpoint, PendingWrite
from sortkey.wire.metrics import Metrics
from sortkey.wire.response import ID_LETTERS, IDENTITY_LETTERS, Responses
from sortkey.wire.worker_metrics import OtherWorkers


class Server(Host):
    """Serves one database until told to stop."""

    metrics: Metrics

    def __init__(
        self, database: Database, authentication: Authentication, other_workers: OtherWorkers, leads: bool = False
    ) -> None:
        """A server that `leads` may commit on its loop: one that has the loop and the data folder to itself."""
        super().__init__(Metrics())
        self._database = database
        self._other_workers = other_workers
        identity = "".join(secrets.choice(ID_LETTERS) for _ in range(IDENTITY_LETTERS))
        self._responses = Responses(identity, database.clock.now())
        scheduler = CommitScheduler(database, self._finish, self.outbox, leads)
        self.endpoint = Endpoint(
            database, self._responses, self.metrics, authentication, scheduler, self._samples_of_all
        )

    def handler(self, _peer: str) -> Endpoint:
        return self.endpoint

    def second(self) -> None:
        self._responses.tick(self._database.clock.now())
        self._other_workers.publish(self.samples())

    def samples(self) -> Samples:
        """This process's numbers."""
        return self.metrics.samples() | {
            "sortkey_queued_writes": self.endpoint.queued,
            "sortkey_commits_total": self._database.store.queue.commits,
        }

    def _samples_of_all(self) -> Samples:
        own = {"sortkey_store_bytes": float(self._database.store.bytes_used())}
        return merged([self.samples(), *self._other_workers.others()]) | own

    def _finish(self, write: PendingWrite) -> None:
        self.endpoint.finish(write)

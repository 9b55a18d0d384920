"""Campaign events through Kafka to `sortkey worker`, which is killed now and then. Only where there is a Kafka."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from random import Random
from signal import SIGTERM
from threading import Event
from typing import Final

from tests.kafka.broker import Broker
from tests.kafka.topic import everything, produce
from tests.kafka.worker_process import WorkerProcess
from tests.sortkey_services.boosts.campaigns import as_json, event

PARTITIONS: Final = 2
EVENTS: Final = 20
"""In each second."""
LIFE_SECONDS: Final = 40
PARTNERS: Final = 100


class Feed:
    def __init__(self, folder: Path, store: Path) -> None:
        self._folder = folder
        self._store = str(store)
        (folder / "kafka").mkdir()
        self._broker = Broker(folder / "kafka")
        self._topic = self._broker.topic(PARTITIONS)
        self._random = Random("feed")
        self._worker = self._start()
        self.sent = 0
        self.kills = 0

    def _start(self) -> WorkerProcess:
        return WorkerProcess(self._broker.bootstrap, "boosts", self._topic, self._folder, self._store)

    def run(self, over: Event) -> None:
        for second in count(1):
            if over.wait(1.0):
                return
            produce(self._broker.bootstrap, self._topic, [self._event() for _ in range(EVENTS)])
            self.sent += EVENTS
            if second % LIFE_SECONDS == 0:
                self._worker.kill()
                self.kills += 1
                self._worker = self._start()

    def _event(self) -> tuple[str, bytes]:
        number = self._random.randrange(PARTNERS)
        made = event(self.sent, f"fed-{number}", f"fed-{number}", areas=("BER-01",), updated_at=datetime.now(UTC))
        return made.partner_id, as_json(made)

    def problems(self) -> list[str]:
        """At the end: all events were handled, and none was rejected."""
        self._worker.wait_until_committed(PARTITIONS)
        rejected = everything(self._broker.bootstrap, f"{self._topic}.dead-letters")
        return [f"{len(rejected)} events were rejected"] if rejected else []

    def stop(self) -> None:
        self._worker.stop(SIGTERM)
        self._broker.stop()

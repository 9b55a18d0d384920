"""One Kafka for each test worker: a second Java costs less than sharing one between processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from tests.kafka.broker import Broker, running
from tests.kafka.worker_process import WorkerProcess
from tests.maven import Unavailable


class StartWorker(Protocol):
    def __call__(self, service: str, topic: str, store: str = "", config: Path | None = None) -> WorkerProcess: ...


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    try:
        with running(tmp_path_factory.mktemp("kafka")) as broker:
            yield broker
    except Unavailable as error:
        pytest.skip(f"no Kafka: {error}")


@pytest.fixture
def start_worker(broker: Broker, tmp_path: Path) -> Iterator[StartWorker]:
    """Starts a worker of a service on a topic; one that a failing test leaves behind is killed."""
    started: list[WorkerProcess] = []

    def start(service: str, topic: str, store: str = "", config: Path | None = None) -> WorkerProcess:
        started.append(WorkerProcess(broker.bootstrap, service, topic, tmp_path, store, config))
        return started[-1]

    yield start
    for worker in started:
        worker.kill()

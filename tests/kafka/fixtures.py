"""One Kafka for each test worker: a second Java costs less than sharing one between processes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kafka.broker import Broker, running
from tests.maven import Unavailable


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    try:
        with running(tmp_path_factory.mktemp("kafka")) as broker:
            yield broker
    except Unavailable as error:
        pytest.skip(f"no Kafka: {error}")

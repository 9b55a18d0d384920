"""Kafka: fetched once by Maven, one node that is broker and controller, gone with the process that started it.

`python -m tests.kafka.broker` fetches it ahead of a test run.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Final
from uuid import uuid4

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests import maven
from tests.maven import Unavailable

POM: Final = Path(__file__).with_name("pom.xml")
START_SECONDS: Final = 90
JAVA: Final = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")

# One node needs no copies; groups and transactions of killed workers end quickly, so that tests need not wait. Messages
# are kept although some bear times of last year: Kafka looks every five minutes for what is too old.
PROPERTIES: Final = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},BEHIND://127.0.0.1:{behind},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port},BEHIND://127.0.0.1:{proxy}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,BEHIND:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
log.dirs={folder}/logs
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
transaction.abort.timed.out.transaction.cleanup.interval.ms=200
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=500
num.io.threads=2
num.network.threads=2
log.cleaner.enable=false
log.retention.ms=-1
"""


class BrokerFailed(Exception):
    """Kafka is installed but does not start: tests fail, and are not skipped."""


def install() -> Path:
    """The folder of Kafka's jars, fetched when missing."""
    return maven.install(POM, "kafka")


class Broker:
    """One running Kafka. It can be stopped and started again, and keeps its data."""

    def __init__(self, folder: Path) -> None:
        port, controller, self.behind, self.proxy = maven.free_ports(4)
        """Clients that come by a proxy are told the proxy's port; the proxy connects to the port `behind`."""
        self.bootstrap = f"127.0.0.1:{port}"
        self._folder = folder
        self._log = folder / "log"
        self._properties = folder / "server.properties"
        self._properties.write_text(self._settings(port, controller))
        self._numbers = count(1)
        self._jars = install()
        self._format()
        self.start()

    def _settings(self, port: int, controller: int) -> str:
        ports = {"port": port, "controller": controller, "behind": self.behind, "proxy": self.proxy}
        return PROPERTIES.format(**ports, folder=self._folder)

    def start(self) -> None:
        java = [*JAVA, "-cp", f"{self._jars}/*", "kafka.Kafka", str(self._properties)]
        self._guard = maven.start(java, self._folder, self._log)
        self.admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        try:
            self._wait_until_ready()
        except BrokerFailed:
            self.stop()
            raise

    def stop(self) -> None:
        maven.stop(self._guard)

    def topic(self, partitions: int) -> str:
        """A new one, with nothing in it, and one for its dead letters."""
        name = f"events-{next(self._numbers)}"
        wanted = [NewTopic(name, partitions, 1), NewTopic(f"{name}.dead-letters", 1, 1)]
        for made in self.admin.create_topics(wanted).values():
            made.result()
        self._wait_until_listed({topic.topic for topic in wanted})
        return name

    def _wait_until_listed(self, names: set[str]) -> None:
        """Kafka answers when its controller has the topics; clients are told of them a moment later."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            listed = self.admin.list_topics(timeout=START_SECONDS).topics
            # A topic that is listed without partitions has no leader yet.
            if all(name in listed and listed[name].partitions for name in names):
                return
        raise BrokerFailed(f"Kafka does not list {', '.join(sorted(names))}: {self._log.read_text().strip()[-500:]}")

    def _format(self) -> None:
        cluster = urlsafe_b64encode(uuid4().bytes).decode().rstrip("=")
        storage_tool = ["-cp", f"{self._jars}/*", "kafka.tools.StorageTool", "format"]
        # With `=`, since an id may begin with a hyphen.
        command = ["java", *JAVA, *storage_tool, f"--cluster-id={cluster}", f"--config={self._properties}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=START_SECONDS)
        if done.returncode != 0:
            raise BrokerFailed(f"Kafka's folder could not be made: {done.stderr.strip()[-500:]}")

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            try:
                self.admin.list_topics(timeout=1)
            except KafkaException:
                continue
            return
        raise BrokerFailed(f"Kafka did not start: {self._log.read_text().strip()[-500:]}")


@contextmanager
def running(folder: Path) -> Iterator[Broker]:
    broker = Broker(folder)
    try:
        yield broker
    finally:
        broker.stop()


def main() -> int:
    try:
        jars = install()
    except Unavailable as error:
        sys.stderr.write(f"No Kafka, so the tests that need one will be skipped: {error}.\n")
        return 1
    sys.stdout.write(f"Kafka {maven.version(POM)} is in {os.path.relpath(jars)}.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

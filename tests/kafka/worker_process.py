"""`sortkey worker` as a process of its own, to be stopped, killed and frozen."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

SECONDS = 60
# A killed worker is noticed after three seconds, and its transactions end after two.
PROPERTIES = "session.timeout.ms=3000\nheartbeat.interval.ms=500\ntransaction.timeout.ms=2000\n"

SAMPLE = re.compile(r"^(\w+)(\{.*\})? (\S+)$", re.MULTILINE)


class WorkerProcess:
    """Has joined its group when this returns. Its log is in the folder, and so is its store, unless it is elsewhere."""

    def __init__(
        self, bootstrap: str, service: str, topic: str, folder: Path, store: str = "", config: Path | None = None
    ) -> None:
        properties = folder / "kafka.properties"
        properties.write_text(PROPERTIES)
        command = [sys.executable, "-m", "sortkey", "worker", service, "--kafka", bootstrap, "--topic", topic]
        options = [
            "--group",
            f"{topic}-group",
            "--store",
            store or str(folder / "data"),
            "--kafka-config",
            str(properties),
            *([] if config is None else ["--config", str(config)]),
        ]
        with (folder / "worker.log").open("a") as log:
            self._process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=log, text=True)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.startswith("ready http://"):
            self.kill()
            raise AssertionError(f"not ready: {line!r}")
        self.url = line.split()[1]

    def samples(self, family: str) -> dict[str, float]:
        """A family's numbers, by their labels."""
        with urllib.request.urlopen(f"{self.url}/metrics", timeout=SECONDS) as answer:
            found = SAMPLE.findall(answer.read().decode())
        return {labels: float(number) for name, labels, number in found if name == family}

    def wait_until_handled(self, number: int) -> None:
        """Until this process has applied or rejected so many messages."""

        def handled() -> float:
            outcomes = self.samples("sortkey_feed_messages_total")
            return outcomes['{outcome="applied"}'] + outcomes['{outcome="rejected"}']

        self._wait(lambda: handled() >= number)

    def wait_until_retried(self) -> None:
        """Until a batch has been retried."""
        self._wait(lambda: self.samples("sortkey_feed_messages_total")['{outcome="retried"}'] > 0)

    def wait_until_behind(self) -> None:
        """Until it has noticed that there is something left: it measures once a second."""
        self._wait(lambda: any(self.samples("sortkey_feed_lag").values()))

    def wait_until_committed(self, partitions: int) -> None:
        """Until it has so many partitions, and there is nothing left in any."""

        def done() -> bool:
            lags = self.samples("sortkey_feed_lag")
            return len(lags) == partitions and not any(lags.values())

        self._wait(done)

    def wait_until_partitions(self, number: int) -> None:
        """Until the group has given it so many."""
        self._wait(lambda: self.samples("sortkey_feed_partitions") == {"": number})

    def freeze(self) -> None:
        os.kill(self._process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self._process.pid, signal.SIGCONT)

    def kill(self) -> None:
        """As `kill -9` does; may be repeated."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate(timeout=SECONDS)

    def stop(self, number: signal.Signals) -> int:
        """Gracefully; returns the exit status."""
        self._process.send_signal(number)
        assert self._process.communicate(timeout=SECONDS)[0] == ""
        return self._process.returncode

    def _wait(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 2 * SECONDS
        while not condition():
            assert self._process.poll() is None, "the worker ended"
            assert time.monotonic() < deadline, "it takes too long"
            time.sleep(0.02)  # another process tells only when asked

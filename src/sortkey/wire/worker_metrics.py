"""How workers know each other's numbers: each leaves its own in a folder once a second, and adds up what it finds.

A scrape reaches any one of them and must tell of all. Its own numbers are exact, the others' at most a second old.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

import msgspec

from sortkey.http.prometheus import Samples


class OtherWorkers(Protocol):
    def publish(self, samples: Samples) -> None:
        """Let the others know."""

    def others(self) -> list[Samples]:
        """What the others let known last."""


class NoOtherWorkers:
    def publish(self, samples: Samples) -> None:
        """There is nobody to know."""

    def others(self) -> list[Samples]:
        return []


class MetricsFolder:
    def __init__(self, folder: Path, number: int) -> None:
        self._folder = folder
        self._own = folder / f"{number}.json"

    def publish(self, samples: Samples) -> None:
        # Renamed into place, so nobody reads half of it.
        beside = self._own.with_suffix(".new")
        beside.write_bytes(msgspec.json.encode(samples))
        os.replace(beside, self._own)

    def others(self) -> list[Samples]:
        files = [path for path in sorted(self._folder.glob("*.json")) if path != self._own]
        return [msgspec.json.decode(path.read_bytes(), type=Samples) for path in files]

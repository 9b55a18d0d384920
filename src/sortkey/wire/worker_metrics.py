"""Metrics over several workers: each writes its numbers into a shared folder once a second, and adds up what it finds.

A scrape reaches any one of them and must show the sum. A worker's own numbers are exact, the others' at most a second
old.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

import msgspec

from sortkey.http.prometheus import Samples


class OtherWorkers(Protocol):
    def publish(self, samples: Samples) -> None:
        """Show this worker's numbers to the others."""

    def samples(self) -> list[Samples]:
        """What each of the others published last."""


class NoOtherWorkers:
    def publish(self, samples: Samples) -> None:
        pass

    def samples(self) -> list[Samples]:
        return []


class MetricsFolder:
    def __init__(self, folder: Path, number: int) -> None:
        self._folder = folder
        self._own = folder / f"{number}.json"

    def publish(self, samples: Samples) -> None:
        # Renamed into place, so that no reader sees half of it.
        new = self._own.with_suffix(".new")
        new.write_bytes(msgspec.json.encode(samples))
        os.replace(new, self._own)

    def samples(self) -> list[Samples]:
        files = [path for path in sorted(self._folder.glob("*.json")) if path != self._own]
        return [msgspec.json.decode(path.read_bytes(), type=Samples) for path in files]

from __future__ import annotations

from tests.kafka.fixtures import broker

__all__ = ["broker"]

"""Work that may take hours: a session does it part by part, each within its timeout."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from sortkey.model.calls.steps import Steps

R = TypeVar("R")


class LongWork(ABC, Generic[R]):
    @abstractmethod
    def part(self) -> Steps[bool]:
        """Does the next part; returns whether there are more."""

    @abstractmethod
    def pause(self) -> float:
        """The seconds to wait before the next part."""

    @property
    @abstractmethod
    def result(self) -> R:
        """What was done so far."""

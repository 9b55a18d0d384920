"""Reads of a sync session by many exact keys, of several classes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, TypeVar, overload

from sortkey.client import Client
from sortkey.model.paths.access_path import AccessPath
from sortkey.model.sessions import get_many
from sortkey.model.sessions.any_session import AnySession
from sortkey.model.sessions.steps import Steps

T = TypeVar("T")
T1 = TypeVar("T1")
T2 = TypeVar("T2")
T3 = TypeVar("T3")
T4 = TypeVar("T4")


class SyncManyReads(AnySession[Client], ABC):
    @abstractmethod
    def _run(self, steps: Steps[T], /) -> T:
        """Carries out the steps of a call."""

    # A tuple is an Iterable, too; the first signature that fits counts.
    @overload
    def get_many(  # type: ignore[overload-overlap]
        self, paths: tuple[AccessPath[T1], AccessPath[T2]], *, consistent: bool = False, transaction: bool = False
    ) -> tuple[T1 | None, T2 | None]: ...

    @overload
    def get_many(  # type: ignore[overload-overlap]
        self,
        paths: tuple[AccessPath[T1], AccessPath[T2], AccessPath[T3]],
        *,
        consistent: bool = False,
        transaction: bool = False,
    ) -> tuple[T1 | None, T2 | None, T3 | None]: ...

    @overload
    def get_many(  # type: ignore[overload-overlap]
        self,
        paths: tuple[AccessPath[T1], AccessPath[T2], AccessPath[T3], AccessPath[T4]],
        *,
        consistent: bool = False,
        transaction: bool = False,
    ) -> tuple[T1 | None, T2 | None, T3 | None, T4 | None]: ...

    @overload
    def get_many(
        self, paths: Iterable[AccessPath[T]], *, consistent: bool = False, transaction: bool = False
    ) -> list[T | None]: ...

    def get_many(self, paths: Iterable[AccessPath[Any]], *, consistent: bool = False, transaction: bool = False) -> Any:
        """The items with these exact keys, of any classes and tables, in the order of the keys; None for each key
        without an item. A list, or a tuple if `paths` is one. With `transaction`, all of them, at most a hundred, as
        they were at one moment, which costs as much as two consistent reads of each."""
        return self._run(get_many.get_many(self._context, paths, consistent, transaction))

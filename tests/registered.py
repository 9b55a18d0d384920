"""Services that tests register, as installed packages would."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.metadata import EntryPoint, EntryPoints, entry_points

from sortkey.cli import services


def only(**places: str) -> Callable[..., EntryPoints]:
    """An `entry_points` with just these services: each name, and the place of its definition."""
    registered = EntryPoints(EntryPoint(name, place, services.GROUP) for name, place in places.items())
    return lambda group: registered.select(group=group)


@cache
def installed(group: str) -> EntryPoints:
    """What is installed does not change while tests run, and to find it takes a hundredth of a second."""
    return entry_points(group=group)


def register_only(**places: str) -> None:
    """For a process of its own."""
    vars(services)["entry_points"] = only(**places)

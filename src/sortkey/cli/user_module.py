"""Imports the module of a user's program that a command names."""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType


class NoModule(Exception):
    """There is no such module, or it cannot be imported; the message says why."""


def import_user_module(name: str) -> ModuleType:
    """Modules of the current folder are found, as with `python -m`."""
    sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise NoModule(f"there is no module {name!r}: {error}") from None
    finally:
        sys.path.pop(0)

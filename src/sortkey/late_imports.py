"""Imports of what only some programs need, when it is first needed.

Python's garbage collector runs after so many new objects. Modules are nothing but new objects that stay, so it walks
them again and again, and finds nothing. So it pauses meanwhile, and then takes them for old ones: to walk them once
more took a tenth of an import.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any


def late_import(name: str) -> Any:
    """A module, by its full name."""
    with collector_paused():
        return import_module(name)


@contextmanager
def collector_paused() -> Iterator[None]:
    """No garbage is collected in this block, unless another thread ends one first."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            # Objects that are frozen, and then no longer, are old. What was frozen before stays so: by the program, or
            # by Python 3.12 itself.
            if not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()

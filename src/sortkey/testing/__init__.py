"""`sk.testing`: a store for a test, its faults, and a clock that the test moves."""

from sortkey.client import Faults
from sortkey.clock import ManualClock
from sortkey.testing.interception import RefusedService
from sortkey.testing.local import Local, async_local, local
from sortkey.testing.regions import RegionsOfTest, regions
from sortkey.testing.stores import AmbiguousStore

__all__ = [
    "AmbiguousStore",
    "Faults",
    "Local",
    "ManualClock",
    "RefusedService",
    "RegionsOfTest",
    "async_local",
    "local",
    "regions",
]

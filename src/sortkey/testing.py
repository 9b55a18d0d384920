"""`sk.testing`: faults of a store in the process, for tests of what is built on it."""

from sortkey.client import Faults as Faults

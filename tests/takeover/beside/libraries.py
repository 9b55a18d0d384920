"""The libraries that are tried, by name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Final

import sortkey as sk
from tests.takeover.beside import beside_electrodb, beside_pynamodb
from tests.takeover.beside.campaign import Library
from tests.takeover.beside.node_packages import NodeProgram

LIBRARIES: Final = ("pynamodb", "electrodb")


@contextmanager
def library(name: str, url: str) -> Iterator[Library]:
    """The table of a library, and the two programs on it. Raises Unavailable if ElectroDB cannot be installed."""
    if name == "pynamodb":
        with sk.connect(url, tables=[beside_pynamodb.TABLE]) as db:
            yield beside_pynamodb.library(url, db)
    else:
        with (
            closing(NodeProgram(url, beside_electrodb.TABLE.name)) as node,
            sk.connect(url, tables=[beside_electrodb.TABLE]) as db,
        ):
            yield beside_electrodb.library(url, db, node)

"""Stores with faults: a client of the engine in this process, and one of `sortkey db --faults` in another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from botocore.config import Config

import sortkey as sk
from sortkey.client import Client
from tests.wire.serving import ServerProcess

OpenFaulty = Callable[[str], Client]


@pytest.fixture(params=["client", pytest.param("endpoint", marks=pytest.mark.slow)])
def open_faulty(request: pytest.FixtureRequest) -> Iterator[OpenFaulty]:
    """Opens an empty store with the faults that a text lists. The client sends nothing twice by itself."""
    with ExitStack() as opened:

        def open_faulty(faults: str) -> Client:
            if request.param == "client":
                return opened.enter_context(sk.client("memory:", faults=sk.testing.Faults.parse(faults)))
            process = ServerProcess("--memory", "--faults", faults)
            opened.callback(process.stop)
            config = Config(retries={"max_attempts": 0})
            return opened.enter_context(sk.client(process.url, config=config))

        yield open_faulty

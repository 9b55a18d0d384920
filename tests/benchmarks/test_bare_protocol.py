"""The constant: an answer that a client of DynamoDB takes for one, and an end when it is told to end."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from benchmarks._bare_protocol import SERVER
from benchmarks._server import Server
from benchmarks._workload import requests, rows_in


@pytest.mark.slow
def test_every_request_gets_the_same_item(tmp_path: Path) -> None:
    with Server(SERVER, tmp_path / "bare") as server, closing(server.endpoint()) as endpoint:
        assert rows_in(endpoint.send("GetItem", requests("GetItem", 1000)[0].body)) == 1

"""wrk's report, and which of its runs count."""

from __future__ import annotations

import shutil
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import socket
from threading import Thread

import pytest

from benchmarks import _wrk
from benchmarks._workload import Request
from benchmarks._wrk import Measured, NoWrk, read, require, run, write_requests

REPORT = """Running 3s test @ http://127.0.0.1:8000
  1 threads and 8 connections
Requests/sec:  20000.00
{"requests":60000,"seconds":3.000000,"p50":0.250000,"p99":1.500000,"rejected":0,"broken":0,"p95":0.500000}
"""


def test_reads_the_line_below_the_report() -> None:
    measured = read(REPORT)
    assert measured == Measured(requests=60_000, seconds=3.0, p50=0.25, p99=1.5, rejected=0, broken=0, p95=0.5)
    assert measured.rate == 20_000
    assert measured.error is None


@pytest.mark.parametrize(
    ("requests", "rejected", "broken", "error"),
    [
        (500, 3, 0, "3 of 500 answers were errors, 0 connections broke"),
        (500, 0, 2, "0 of 500 answers were errors, 2 connections broke"),
        (0, 0, 0, "no request was answered in time"),
    ],
)
def test_a_run_with_errors_does_not_count(requests: int, rejected: int, broken: int, error: str) -> None:
    assert Measured(requests, 3.0, 1.0, 2.0, rejected, broken).error == error


def test_says_how_to_get_wrk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(NoWrk, match="apt-get install wrk"):
        require()


class Recorder(BaseHTTPRequestHandler):
    """Answers a PutItem, rejects everything else, and remembers what it was sent."""

    protocol_version = "HTTP/1.1"
    seen: set[tuple[str, bytes]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.seen.add((self.headers["X-Amz-Target"], body))
        self.send_response(200 if self.headers["X-Amz-Target"].endswith("PutItem") else 400)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def do_GET(self) -> None:
        self.seen.add((f"GET {self.path}", b""))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Not into the test's output."""


@pytest.mark.skipif(shutil.which("wrk") is None, reason="there is no wrk")
@pytest.mark.slow
def test_sends_what_is_written_and_counts_errors(tmp_path: Path) -> None:
    Recorder.seen = set()
    with ThreadingHTTPServer(("127.0.0.1", 0), Recorder) as server:
        server.daemon_threads = True
        Thread(target=server.serve_forever, daemon=True).start()
        file = tmp_path / "requests"
        asked = [Request("PutItem", b'{"a": 1}'), Request("GetItem", b'{"b": 2}'), Request("/some?first=2", b"")]
        write_requests(file, asked)
        # Long enough for all of them on a machine that has much else to do.
        measured = run(f"http://127.0.0.1:{server.server_port}", file, connections=2, seconds=3)
        server.shutdown()
    assert Recorder.seen == {
        ("DynamoDB_20120810.PutItem", b'{"a": 1}'),
        ("DynamoDB_20120810.GetItem", b'{"b": 2}'),
        ("GET /some?first=2", b""),
    }
    assert 0 < measured.rejected < measured.requests


@pytest.mark.skipif(shutil.which("wrk") is None, reason="there is no wrk")
def test_a_server_that_is_gone_does_not_count(tmp_path: Path) -> None:
    with socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        write_requests(tmp_path / "requests", [Request("PutItem", b"{}")])
        gone = run(f"http://127.0.0.1:{reserved.getsockname()[1]}", tmp_path / "requests", connections=2, seconds=1)
    assert gone.error is not None


def test_the_script_is_there() -> None:
    assert _wrk.SCRIPT.is_file()

"""Several threads may send the first request of a process at once."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

import pytest

PROGRAM = dedent("""
    import sys
    import threading

    from sortkey.engine import requests

    BODIES = {
        "GetItem": b'{"TableName": "abc", "Key": {"pk": {"S": "x"}}}',
        "PutItem": b'{"TableName": "abc", "Item": {"pk": {"S": "x"}}, "Expected": {"a": {"Exists": true}}}',
        "BatchWriteItem": b'{"RequestItems": {"abc": [{"PutRequest": {"Item": {"pk": {"S": "x"}}}}]}}',
        "TransactWriteItems": b'{"TransactItems": [{"Put": {"TableName": "abc", "Item": {"pk": {"S": "x"}}}}]}',
    }
    sys.setswitchinterval(1e-6)
    together = threading.Barrier(8)
    read = []

    def use():
        together.wait()
        read.extend(requests.decode(operation, body) for operation, body in BODIES.items())

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(len(read))
""")


# msgspec crashed when threads used the same structure for the first time at once.
@pytest.mark.every_python
@pytest.mark.slow
def test_threads_may_send_the_first_requests_together() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (0, "32\n"), done.stderr

"""Several threads may send the first request of a process at once."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

import pytest

PROGRAM = dedent("""
    import json
    import sys
    import threading

    IMPORT

    MEMBERS = {
        "GetItem": {"TableName": "abc", "Key": {"pk": {"S": "x"}}},
        "PutItem": {"TableName": "abc", "Item": {"pk": {"S": "x"}}, "ConditionExpression": "a = b"},
        "BatchWriteItem": {"RequestItems": {"abc": [{"PutRequest": {"Item": {"pk": {"S": "x"}}}}]}},
        "Query": {"TableName": "abc", "KeyConditionExpression": "a = b"},
    }
    sys.setswitchinterval(1e-6)
    together = threading.Barrier(8)
    read = []

    def use():
        together.wait()
        read.extend(read_one(operation, members) for operation, members in MEMBERS.items())

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(len(read))
""")


WAYS = {
    "from a body": "from sortkey.engine.requests import decode\n"
    "read_one = lambda operation, members: decode(operation, json.dumps(members).encode())",
    "from a dictionary": "from sortkey.engine.requests import convert as read_one",
    "of a client in the process": "from sortkey.client.typed_requests import typed_request as read_one",
    "of a client of an endpoint": "from sortkey.client.remote_formats import request_body as read_one",
}


# msgspec crashed when threads used the same structure for the first time at once.
@pytest.mark.every_python
@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_threads_may_send_the_first_requests_together(way: str) -> None:
    program = PROGRAM.replace("IMPORT", way)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (0, "32\n"), done.stderr

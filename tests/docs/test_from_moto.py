"""What docs/learn/from-moto.md shows: the changed test passes, and the endpoint starts and stops as it says."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sortkey as sk
from tests.docs.files import PAGES, imported, write_files

PAGE = "learn/from-moto.md"

# The page's own way to the URL, without an SDK.
NODE = """
const { spawn } = require("node:child_process"), { once } = require("node:events");
const { createInterface } = require("node:readline");
(async () => {
  %s
  const answer = await fetch(line.slice(6), {
    method: "POST", headers: { "x-amz-target": "DynamoDB_20120810.ListTables" }, body: "{}" });
  console.log(await answer.text());
  server.kill();
})();
"""


def test_the_changed_test_passes(tmp_path: Path) -> None:
    write_files(PAGE, tmp_path)
    with imported(tmp_path, "test_orders") as (module,):
        module.test_an_order_is_stored()
        module.test_an_order_is_stored()


@pytest.mark.slow
def test_the_endpoint_of_a_test(tmp_path: Path) -> None:
    write_files(PAGE, tmp_path)
    with imported(tmp_path, "endpoint") as (module,), module.endpoint() as url, sk.client(url) as client:
        assert client.list_tables()["TableNames"] == []


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node")
def test_javascript_starts_the_endpoint(tmp_path: Path) -> None:
    block = (PAGES / PAGE).read_text(encoding="utf-8").partition("```js\n")[2]
    started = "".join(block.splitlines(keepends=True)[:2])
    command = tmp_path / "sortkey"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sortkey "$@"\n')
    command.chmod(0o755)
    program = NODE % started.replace('"sortkey"', repr(str(command)), 1)
    done = subprocess.run(["node", "-e", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == '{"TableNames":[]}'

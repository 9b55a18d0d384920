"""The alerts and the dashboard ask for metrics and labels that real processes have, and that the pages tell."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import yaml

import sortkey as sk
from sortkey.feeds.kafka.metrics import FAMILIES as WORKER_FAMILIES
from sortkey.http.metrics import Families
from sortkey.server.metrics import FAMILIES as SERVICES_FAMILIES
from sortkey.storage.continuous_backup import FAMILIES as BACKUP_FAMILIES
from sortkey.wire.metrics import FAMILIES as ENDPOINT_FAMILIES
from tests.maven import REPOSITORY

METRIC = re.compile(r"\b(sortkey_[a-z_]+)(?:\{([^}]*)\})?")
LABEL = re.compile(r"(\w+)(?:=~|!=|=)")
GROUPED = re.compile(r"\bby \(([^)]*)\)")
SHOWN = re.compile(r"\{\{\s*\$?(?:labels\.)?(\w+)\s*\}\}")
SAMPLE = re.compile(r"^(sortkey_\w+)(?:\{(.*)\})? \S+$", re.MULTILINE)
OF_PROMETHEUS = {"instance", "job", "le"}
SUFFIX = re.compile(r"_(bucket|sum|count)$")
SECONDS = 60
KAFKA_METRICS = "sortkey_feed_"
"""Of a worker, which needs a broker; the tests of the worker read them."""


def dashboard_queries() -> Iterator[tuple[str, str]]:
    """Each expression, and the text that shows labels."""
    board = json.loads((REPOSITORY / "deploy" / "grafana" / "dashboards" / "sortkey.json").read_text(encoding="utf-8"))
    for panel in board["panels"]:
        for target in panel.get("targets", ()):
            yield target["expr"], target["legendFormat"]


def alert_queries() -> Iterator[tuple[str, str]]:
    text = (REPOSITORY / "deploy" / "prometheus" / "alerts.yml").read_text(encoding="utf-8")
    for rule in yaml.safe_load(text)["groups"][0]["rules"]:
        yield rule["expr"], rule["annotations"]["summary"]


QUERIES = [*dashboard_queries(), *alert_queries()]
NAMES = {SUFFIX.sub("", name) for expression, _ in QUERIES for name, _ in METRIC.findall(expression)}


def labels_asked_for(expression: str, shown: str) -> set[str]:
    """Labels that the query names; `$value` is none."""
    matched = {label for _, braces in METRIC.findall(expression) for label in LABEL.findall(braces)}
    grouped = {label.strip() for labels in GROUPED.findall(expression) for label in labels.split(",")}
    return (matched | grouped | set(SHOWN.findall(shown))) - OF_PROMETHEUS


def test_every_metric_is_one_that_we_count() -> None:
    every: dict[str, Families] = {
        "endpoint": ENDPOINT_FAMILIES,
        "services": SERVICES_FAMILIES,
        "worker": WORKER_FAMILIES,
        "backup": BACKUP_FAMILIES,
    }
    known = {name for families in every.values() for name in families}
    assert len(NAMES) > 25
    assert NAMES - known == set()


def test_every_metric_is_in_the_documentation() -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in (REPOSITORY / "docs").rglob("*.md"))
    told = {name for name, _ in METRIC.findall(pages)}
    assert NAMES - told == set()


def scraped(url: str) -> dict[str, set[str]]:
    """The labels of each family."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=SECONDS) as answer:
        found = SAMPLE.findall(answer.read().decode())
    families: dict[str, set[str]] = {}
    for name, labels in found:
        families.setdefault(SUFFIX.sub("", name), set()).update(re.findall(r"(\w+)=\"", labels))
    return families


@contextmanager
def running(*arguments: str | Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "sortkey", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("ready http://"), process.stderr.read() if process.stderr else line
            yield line.split()[1], process
        finally:
            process.terminate()
            process.communicate(timeout=SECONDS)


def endpoint_of(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(r"the DynamoDB endpoint is (\S+)", line):
            return found[1]
    raise AssertionError("no endpoint")


def call(url: str, method: str) -> None:
    with urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=SECONDS) as answer:
        answer.read()


# Families without samples are left out of /metrics, so each process has something to count.
@pytest.mark.slow
def test_every_metric_and_label_is_one_of_a_real_process(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with ExitStack() as stack:
        up = running("up", "--store", data, "--no-demo", "--port", "0", "--db-port", "0", "--access-log", "off")
        services, process = stack.enter_context(up)
        backup, _ = stack.enter_context(running("backup", data, tmp_path / "copies", "--every", "1h"))
        endpoint = endpoint_of(process)
        call(f"{services}/favourites/ann/r1", "PUT")
        with sk.client(endpoint) as client:
            client.scan(TableName=client.list_tables()["TableNames"][0])
        wanted = {name for name in NAMES if not name.startswith(KAFKA_METRICS)}
        families: dict[str, set[str]] = {}
        deadline = time.monotonic() + SECONDS
        while wanted - families.keys() and time.monotonic() < deadline:
            families = {**scraped(services), **scraped(endpoint), **scraped(backup)}
        assert sorted(wanted - families.keys()) == []
    for expression, shown in QUERIES:
        names = {SUFFIX.sub("", name) for name, _ in METRIC.findall(expression)}
        if not any(name.startswith(KAFKA_METRICS) for name in names):
            asked = labels_asked_for(expression, shown) - {"value"}
            there = set().union(*(families.get(name, set()) for name in names))
            assert asked - there == set(), expression

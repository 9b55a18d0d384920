"""Prometheus accepts the configuration, and the alerts fire when they should and not before."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deployment.conftest import Check
from tests.maven import REPOSITORY

FOLDER = REPOSITORY / "deploy" / "prometheus"
CASES = REPOSITORY / "tests" / "deployment" / "alerts.yml"


@pytest.mark.slow
def test_prometheus_accepts_the_configuration(promtool: Check) -> None:
    assert "1 rule files found" in promtool("check", "config", FOLDER / "prometheus.yml")


@pytest.mark.slow
def test_the_alerts_fire_when_they_should(promtool: Check) -> None:
    assert "SUCCESS" in promtool("test", "rules", CASES)


def loaded(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_every_alert_has_a_case() -> None:
    (group,) = loaded(FOLDER / "alerts.yml")["groups"]
    cases = [case for each in loaded(CASES)["tests"] for case in each["alert_rule_test"]]
    fired = {case["alertname"] for case in cases if case["exp_alerts"]}
    silent = {case["alertname"] for case in cases if not case["exp_alerts"]}
    names = [rule["alert"] for rule in group["rules"]]
    assert (sorted(fired), sorted(silent)) == (sorted(names), sorted(names))


# Compose's names, at which Prometheus finds the processes.
def test_what_is_scraped_is_in_compose() -> None:
    jobs = loaded(FOLDER / "prometheus.yml")["scrape_configs"]
    targets = {target for job in jobs for each in job["static_configs"] for target in each["targets"]}
    served = {"sortkey:8080", "sortkey:8000"}
    for name, service in loaded(REPOSITORY / "deploy" / "compose" / "compose.yaml")["services"].items():
        served |= {f"{name}:{port}" for port in re.findall(r"--metrics-port (\d+)", service.get("command", ""))}
    assert targets == served

"""Compose: a sound file, commands that exist, files that are there, and the Kafka that is tested."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.deployment.command_lines import parsed_text
from tests.deployment.conftest import Check
from tests.maven import REPOSITORY, version

FILE = REPOSITORY / "deploy" / "compose" / "compose.yaml"
COMPOSE: dict[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"] == "sortkey"}


@pytest.mark.slow
def test_the_schema_of_compose_accepts_it(check_jsonschema: Check) -> None:
    check_jsonschema("--builtin-schema", "vendor.compose-spec", FILE)


def test_our_commands_exist() -> None:
    assert {name: parsed_text(service["command"]) for name, service in OURS.items()} == {
        "sortkey": "up",
        "worker": "worker",
        "backup": "backup",
    }


def test_ours_have_no_rights_and_a_root_that_is_read_only() -> None:
    for service in OURS.values():
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert "user" not in service
        assert "privileged" not in service


# Readers of one data folder are told apart by process id; with ids of their own, two containers would have the same.
def test_who_shares_the_data_folder_shares_the_process_ids() -> None:
    sharing = [name for name, service in OURS.items() if "data:/data" in service.get("volumes", ())]
    assert sharing == ["sortkey", "backup"]
    assert [SERVICES[name].get("pid") for name in sharing] == [None, "service:sortkey"]


def test_ports_are_published_on_this_machine_only() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", ())]
    assert len(ports) >= 4
    assert [port for port in ports if not port.startswith("127.0.0.1:")] == []


def test_what_is_mounted_is_there() -> None:
    sources = {volume.partition(":")[0] for service in SERVICES.values() for volume in service.get("volumes", ())}
    files = {source for source in sources if source.startswith(".")}
    assert [source for source in files if not (REPOSITORY / source).is_dir()] == []
    assert sources - files == COMPOSE["volumes"].keys()
    named = {secret for service in SERVICES.values() for secret in service.get("secrets", ())}
    assert named == COMPOSE["secrets"].keys()


def test_services_that_are_waited_for_have_health_checks() -> None:
    waited = {
        name
        for service in SERVICES.values()
        if isinstance(dependencies := service.get("depends_on", {}), dict)
        for name, how in dependencies.items()
        if how["condition"] == "service_healthy"
    }
    # The image's own.
    assert waited - OURS.keys() == {"kafka"}
    assert "healthcheck" in SERVICES["kafka"]


def test_kafka_is_the_one_that_is_tested() -> None:
    tested = version(REPOSITORY / "tests" / "kafka" / "pom.xml")
    assert SERVICES["kafka"]["image"] == f"apache/kafka:{tested}"


def test_images_of_others_have_versions() -> None:
    others = [service["image"] for name, service in SERVICES.items() if name not in OURS]
    assert [image for image in others if ":" not in image or image.endswith(":latest")] == []

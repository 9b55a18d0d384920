"""The manifests: what Kubernetes' own schemas accept, with commands that exist, and pods without rights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.deployment.command_lines import filled, parsed
from tests.deployment.conftest import Check
from tests.maven import REPOSITORY

FOLDER = REPOSITORY / "deploy" / "kubernetes"
FILES = sorted(path for path in FOLDER.glob("*.yaml") if path.name != "kustomization.yaml")
KUSTOMIZATION = yaml.safe_load((FOLDER / "kustomization.yaml").read_text(encoding="utf-8"))
OBJECTS: list[dict[str, Any]] = [
    each for path in FILES for each in yaml.safe_load_all(path.read_text(encoding="utf-8"))
]
VERSIONS = ("1.29", "1.37")
"""The oldest in which all that is used is stable, and the newest that is known."""


def pods() -> Iterator[dict[str, Any]]:
    """The templates of pods."""
    for each in OBJECTS:
        spec = each.get("spec", {})
        spec = spec.get("jobTemplate", {}).get("spec", spec)
        if "template" in spec:
            yield spec["template"]


def containers() -> Iterator[dict[str, Any]]:
    for pod in pods():
        yield from pod["spec"]["containers"]


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_the_schemas_of_kubernetes_accept_them(version: str, kubernetes_validate: Check) -> None:
    kubernetes_validate("--kubernetes-version", version, "--strict", *FILES)


def test_the_kustomization_has_every_file() -> None:
    assert sorted(KUSTOMIZATION["resources"]) == [path.name for path in FILES]
    assert {each["name"] for each in KUSTOMIZATION["images"]} == {each["image"] for each in containers()}


def test_the_commands_exist() -> None:
    assert [parsed([filled(argument) for argument in each["args"]]) for each in containers()] == [
        "doctor",
        "up",
        "backup",
        "worker",
    ]


# The `restricted` profile of the Pod Security Standards.
def test_no_container_has_rights() -> None:
    for pod in pods():
        of_pod = pod["spec"]["securityContext"]
        assert of_pod["runAsNonRoot"]
        assert of_pod["runAsUser"] == 10001
        assert of_pod["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not pod["spec"]["automountServiceAccountToken"]
    for container in containers():
        context = container["securityContext"]
        assert context["readOnlyRootFilesystem"]
        assert not context["allowPrivilegeEscalation"]
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert {"requests", "limits"} == container["resources"].keys()


def test_who_shares_the_data_folder_is_in_one_pod_and_shares_the_process_ids() -> None:
    sharing = [pod for pod in pods() if any("data" in mounts(each) for each in pod["spec"]["containers"])]
    assert len(sharing) == 1
    assert sharing[0]["spec"]["shareProcessNamespace"]
    (stateful,) = [each for each in OBJECTS if each["kind"] == "StatefulSet"]
    assert stateful["spec"]["replicas"] == 1


def mounts(container: dict[str, Any]) -> set[str]:
    return {mount["name"] for mount in container.get("volumeMounts", ())}


def test_every_mount_is_a_volume() -> None:
    claims = {
        claim["metadata"]["name"] for each in OBJECTS for claim in each.get("spec", {}).get("volumeClaimTemplates", ())
    }
    for pod in pods():
        volumes = {volume["name"] for volume in pod["spec"].get("volumes", ())} | claims
        assert [each["name"] for each in pod["spec"]["containers"] if mounts(each) - volumes] == []


def test_selectors_find_pods() -> None:
    labels = [pod["metadata"]["labels"] for pod in pods()]
    selectors = [
        each["spec"].get("podSelector", each["spec"].get("selector"))
        for each in OBJECTS
        if each["kind"] in ("Service", "NetworkPolicy", "PodDisruptionBudget", "StatefulSet", "Deployment")
    ]
    wanted = [selector.get("matchLabels", selector) for selector in selectors]
    assert len(wanted) == 7
    assert [each for each in wanted if not any(each.items() <= found.items() for found in labels)] == []


def test_services_and_probes_name_ports_that_are_there() -> None:
    (service,) = [each for each in OBJECTS if each["kind"] == "Service"]
    known = {port["name"] for container in containers() for port in container.get("ports", ())}
    assert {port["targetPort"] for port in service["spec"]["ports"]} <= known
    for container in containers():
        own = {port["name"] for port in container.get("ports", ())}
        probes = [probe for name, probe in container.items() if name.endswith("Probe")]
        assert [probe for probe in probes if probe["httpGet"]["port"] not in own] == []
        assert [probe for probe in probes if probe["httpGet"]["path"] != "/health"] == []

"""The Dockerfile's instructions, its locked packages, and the files that it gets."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

from tests.deployment.command_lines import parsed
from tests.deployment.conftest import Check
from tests.maven import REPOSITORY

DOCKERFILE = (REPOSITORY / "Dockerfile").read_text(encoding="utf-8")
PINNED = re.compile(r"^([\w.-]+)==(\S+)", re.MULTILINE)


def instruction(name: str) -> str:
    """The one instruction of this name in the last stage."""
    last = DOCKERFILE.replace("\\\n", " ").rpartition("\nFROM ")[2]
    (found,) = re.findall(rf"^{name} (.*)$", last, re.MULTILINE)
    return str(found)


def test_hadolint_finds_nothing(hadolint: Check) -> None:
    assert hadolint("Dockerfile") == ""


def test_the_image_has_no_rights_and_a_volume() -> None:
    user, group = instruction("USER").split(":")
    assert int(user) > 0
    assert int(group) > 0
    assert instruction("VOLUME") == "/data"
    assert instruction("STOPSIGNAL") == "SIGTERM"


def test_its_command_is_one() -> None:
    assert json.loads(instruction("ENTRYPOINT")) == ["sortkey"]
    assert parsed(json.loads(instruction("CMD"))) == "up"


# Otherwise the image would run other versions than those that are tested.
def test_the_image_has_the_versions_that_are_tested() -> None:
    tested = dict(PINNED.findall((REPOSITORY / "requirements.txt").read_text()))
    image = dict(PINNED.findall((REPOSITORY / "requirements-image.txt").read_text()))
    assert {name: version for name, version in image.items() if tested.get(name) != version} == {}
    assert "--require-hashes" in DOCKERFILE


def test_the_image_has_every_extra_that_commands_need() -> None:
    image = dict(PINNED.findall((REPOSITORY / "requirements-image.txt").read_text()))
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    names = re.search(r"\[(.*)\]", extras["all"][0])
    assert names is not None
    wanted = [*project["dependencies"], *(each for name in names[1].split(",") for each in extras[name])]
    packages = {re.split(r"[^\w.-]", each)[0].replace(".", "-") for each in wanted} - {"sortkey"}
    assert sorted(packages - image.keys()) == []


def test_what_the_image_is_made_of_is_not_ignored() -> None:
    allowed = {line[1:] for line in (REPOSITORY / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {
        source for line in re.findall(r"^COPY (?!--from)(.*) \S+$", DOCKERFILE, re.MULTILINE) for source in line.split()
    }
    assert {Path(source).name for source in copied} == allowed
    assert all((REPOSITORY / source).exists() for source in copied)

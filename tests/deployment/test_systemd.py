"""The units: what systemd itself reads, with commands that exist, hardened, and of one user."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.deployment.command_lines import parsed_text
from tests.deployment.conftest import Check
from tests.maven import REPOSITORY

FOLDER = REPOSITORY / "deploy" / "systemd"
UNITS = sorted(FOLDER.glob("*.service"))
PROGRAM = "/opt/sortkey/bin/sortkey"
EXPOSURE = "20"
"""Of 100, at most: what systemd calls OK is below 50."""


def copied(unit: Path, folder: Path) -> Path:
    """With a program that is there, and an instance of those that are templates."""
    copy = folder / unit.name.replace("@", "@boosts")
    copy.write_text(unit.read_text(encoding="utf-8").replace(PROGRAM, "/bin/true"), encoding="utf-8")
    return copy


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_accepts_it(unit: Path, tmp_path: Path, systemd_analyze: Check) -> None:
    assert systemd_analyze("verify", copied(unit, tmp_path)) == ""


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_it_has_few_rights(unit: Path, tmp_path: Path, systemd_analyze: Check) -> None:
    systemd_analyze("security", "--no-pager", "--offline=true", f"--threshold={EXPOSURE}", copied(unit, tmp_path))


def test_the_timer_is_sound(tmp_path: Path, systemd_analyze: Check) -> None:
    copied(FOLDER / "sortkey-backup.service", tmp_path)
    timer = FOLDER / "sortkey-backup.timer"
    copy = tmp_path / timer.name
    copy.write_text(timer.read_text(encoding="utf-8"), encoding="utf-8")
    assert systemd_analyze("verify", copy) == ""
    (calendar,) = re.findall(r"^OnCalendar=(.*)$", timer.read_text(encoding="utf-8"), re.MULTILINE)
    assert "Normalized form: *-*-* *:00/15:00" in systemd_analyze("calendar", calendar)


def command(unit: Path) -> str:
    (found,) = re.findall(rf"^ExecStart={PROGRAM} (.*)$", unit.read_text(encoding="utf-8"), re.MULTILINE)
    return str(found).replace("%i", "favourites" if "follow" in unit.name else "boosts")


def test_the_commands_exist() -> None:
    assert {unit.name: parsed_text(command(unit)) for unit in UNITS} == {
        "sortkey-backup.service": "backup",
        "sortkey-db.service": "db",
        "sortkey-follow@.service": "follow",
        "sortkey-up.service": "up",
        "sortkey-worker@.service": "worker",
    }


def test_variables_have_a_file_that_says_them() -> None:
    for unit in UNITS:
        text = unit.read_text(encoding="utf-8")
        for variable in re.findall(r"\$\{(\w+)\}", text):
            assert re.search(rf"^# .*\b{variable}=", text, re.MULTILINE)
            assert "EnvironmentFile=" in text


# They share a folder, so they are one user, which systemd-sysusers makes.
def test_all_are_of_one_user() -> None:
    users = {user for unit in UNITS for user in re.findall(r"^User=(.*)$", unit.read_text(encoding="utf-8"), re.M)}
    assert users == {"sortkey"}
    assert re.search(r"^u sortkey ", (FOLDER / "sortkey.sysusers").read_text(encoding="utf-8"), re.MULTILINE)

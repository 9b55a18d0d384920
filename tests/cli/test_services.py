"""The configuration file: a service gets its own table, and each mistake gives one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from sortkey.cli.services import settings_of
from sortkey.services.interface import BadSettings


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "sortkey.toml"


def test_a_service_gets_its_own_table(file: Path) -> None:
    file.write_text('[boosts]\ndesign = "v2"\n[boosts.tenants.de]\ntimezone = "Europe/Berlin"\n')
    assert settings_of(file, "boosts") == {"design": "v2", "tenants": {"de": {"timezone": "Europe/Berlin"}}}


def test_without_a_file_or_a_table_the_defaults_hold(file: Path) -> None:
    file.write_text("")
    assert settings_of(None, "boosts") == settings_of(file, "boosts") == {}


# The message must lead to the place.
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"[boosts]\ndesign = v2\n", "line 2"),
        (b"[bosts]\n", "'bosts'"),
        (b"boosts = 3\n", "'boosts' must be a table"),
        (b"\xff", "not UTF-8"),
    ],
    ids=["not TOML", "a table of no service", "no table", "not text"],
)
def test_mistakes_are_reported_with_their_place(file: Path, content: bytes, expected: str) -> None:
    file.write_bytes(content)
    with pytest.raises(BadSettings, match=expected) as error:
        settings_of(file, "boosts")
    assert str(file) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there(file: Path) -> None:
    with pytest.raises(BadSettings, match="No such file"):
        settings_of(file, "boosts")

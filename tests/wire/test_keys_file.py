from __future__ import annotations

from pathlib import Path

import pytest

from sortkey.wire import authentication
from sortkey.wire.authentication import BadKeysFile, Key


def test_keys(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.write_text('{"A": {"secret": "s"}, "B": {"secret": "t", "region": "r", "tables": {"o*": "readwrite"}}}')
    path.chmod(0o600)
    assert authentication.load_keys(path) == {"A": Key("s"), "B": Key("t", "r", {"o*": "readwrite"})}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"A": {}}',
        '{"A": {"secret": ""}}',
        '{"": {"secret": "s"}}',
        '{"A/B": {"secret": "s"}}',
        '{"A": {"secret": "s", "tables": {"o": "rw"}}}',
        '{"A": {"secret": "s", "table": {}}}',
        '{"A": {"secret": "\\ud800"}}',
    ],
)
def test_a_file_that_cannot_be_used_is_explained_in_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "keys.json"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(BadKeysFile) as caught:
        authentication.load_keys(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadKeysFile, match="No such file"):
        authentication.load_keys(tmp_path / "none")


# A group may have been given access on purpose.
@pytest.mark.parametrize(("mode", "is_open"), [(0o600, False), (0o640, False), (0o644, True), (0o602, True)])
def test_a_file_that_is_open_to_all(tmp_path: Path, mode: int, is_open: bool) -> None:
    path = tmp_path / "the keys.json"
    path.write_text('{"A": {"secret": "s"}}')
    path.chmod(mode)
    if not is_open:
        assert authentication.load_keys(path).keys() == {"A"}
        return
    with pytest.raises(BadKeysFile) as error:
        authentication.load_keys(path)
    advice = f"{path} is open to all users of this machine (mode {mode:o}); run: chmod 600 '{path}'"
    assert str(error.value) == advice

"""`sortkey tables`: the tables that a module declares."""

from __future__ import annotations

import json

import pytest

from sortkey.cli.main import main
from sortkey.cli.tables import FORMATS
from sortkey.model.tables.provision import create_request
from tests.model.sessions.shop import SHOP

MODULE = "tests.model.sessions.shop"


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_names_the_table(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tables", MODULE, "--format", name]) == 0
    assert SHOP.name in capsys.readouterr().out


def test_without_a_format_it_prints_requests(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tables", MODULE]) == 0
    assert {"CreateTable": create_request(SHOP)} in json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        ("no_such_module", "sortkey tables: there is no module 'no_such_module'"),
        ("json", "sortkey tables: module 'json' has no class with a table"),
    ],
)
def test_a_module_without_tables_gives_one_line(module: str, expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tables", module]) == 2
    message = capsys.readouterr().err
    assert message.startswith(expected)
    assert message.count("\n") == 1

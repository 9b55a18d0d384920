from __future__ import annotations

import sqlite3
from datetime import date
from decimal import Decimal
from pathlib import Path

import psycopg
import pytest

from sortkey_services.goals.rules import Rule, Rules, RulesError, open_rules, read_rules
from sortkey_services.goals.rules_database import write_rules
from tests.maven import free_port
from tests.postgres.server import PostgresServer

RULES = Rules(
    [
        Rule("BONDS", "GOLD", Decimal("0.12"), date(2026, 1, 1), None),
        Rule("SAVINGS", "GOLD", Decimal("0.08"), date(2026, 1, 1), date(2026, 7, 1)),
        Rule("SAVINGS", "GOLD", Decimal("0.0925"), date(2026, 7, 1), None),
    ]
)


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'rules.db'}"


@pytest.fixture(params=["sqlite_url", pytest.param("postgres_url", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest) -> str:
    found: str = request.getfixturevalue(request.param)
    return found


def test_rules_are_read_as_they_were_written(url: str) -> None:
    write_rules(url, RULES)
    assert read_rules(url).rules == RULES.rules


# The stream side keeps its source open and reads it again.
def test_a_changed_rule_is_read_again(url: str) -> None:
    write_rules(url, RULES)
    source = open_rules(url)
    assert source.read().rate("BONDS", "GOLD", date(2026, 5, 1)) == Decimal("0.12")
    write_rules(url, Rules([Rule("BONDS", "GOLD", Decimal("0.13"))]))
    assert source.read().rate("BONDS", "GOLD", date(2026, 5, 1)) == Decimal("0.13")
    source.close()


def test_a_table_of_another_program_has_texts_and_floats(tmp_path: Path, sqlite_url: str) -> None:
    with sqlite3.connect(tmp_path / "rules.db") as connection:
        connection.execute("CREATE TABLE goal_rules (id, goal_id, tier, special_rate, valid_from, valid_to)")
        connection.execute("INSERT INTO goal_rules VALUES (1, 'SAVINGS', 'GOLD', 0.08, '2026-01-01', NULL)")
    connection.close()
    assert read_rules(sqlite_url).rules == (Rule("SAVINGS", "GOLD", Decimal("0.08"), date(2026, 1, 1)),)


def test_numbers_and_timestamps_of_postgresql(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute(
            "CREATE TABLE goal_rules (goal_id TEXT, tier TEXT, special_rate DOUBLE PRECISION,"
            " valid_from TIMESTAMP, valid_to TIMESTAMPTZ)"
        )
        connection.execute("INSERT INTO goal_rules VALUES ('SAVINGS', 'GOLD', 0.08, '2026-01-01', NULL)")
    assert read_rules(postgres_url).rules == (Rule("SAVINGS", "GOLD", Decimal("0.08"), date(2026, 1, 1)),)


def rejected(url: str) -> str:
    with pytest.raises(RulesError) as error:
        read_rules(url)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_missing_file(tmp_path: Path, sqlite_url: str) -> None:
    assert rejected(sqlite_url) == f"there is no file {tmp_path / 'rules.db'} with rules"
    assert not (tmp_path / "rules.db").exists()


def test_a_file_that_is_no_database(tmp_path: Path, sqlite_url: str) -> None:
    (tmp_path / "rules.db").write_text("goal_id,tier\n" * 100)
    assert rejected(sqlite_url) == f"the rules at {sqlite_url} cannot be read: file is not a database"


def test_a_database_without_the_table(tmp_path: Path, sqlite_url: str, postgres_url: str) -> None:
    sqlite3.connect(tmp_path / "rules.db").execute("CREATE TABLE others (id)").connection.close()
    assert rejected(sqlite_url) == f"there is no table goal_rules at {sqlite_url}"
    assert "there is no table goal_rules at postgresql" in rejected(postgres_url)


def test_a_table_without_a_column(tmp_path: Path, sqlite_url: str) -> None:
    with sqlite3.connect(tmp_path / "rules.db") as connection:
        connection.execute("CREATE TABLE goal_rules (goal_id, tier, special_rate, valid_from)")
    connection.close()
    assert rejected(sqlite_url) == f"the table goal_rules at {sqlite_url} has no column valid_to"


def test_an_empty_table(tmp_path: Path, sqlite_url: str) -> None:
    with sqlite3.connect(tmp_path / "rules.db") as connection:
        connection.execute("CREATE TABLE goal_rules (goal_id, tier, special_rate, valid_from, valid_to)")
    connection.close()
    assert "is empty; without rules no goal is known" in rejected(sqlite_url)


def test_an_unreachable_database_is_one_line_without_the_password() -> None:
    line = rejected(f"postgresql://ana:secret@127.0.0.1:{free_port()}/rules")
    assert "cannot be read: connection" in line
    assert "secret" not in line


def test_a_database_that_does_not_exist(postgres: PostgresServer) -> None:
    assert 'database "nowhere" does not exist' in rejected(f"postgresql://postgres@127.0.0.1:{postgres.port}/nowhere")


@pytest.mark.parametrize("url", ["rules.db", "mysql://host/rules", "http://host", "", "postgresql://u@host:port/x"])
def test_only_sqlite_and_postgresql_are_known(url: str) -> None:
    assert rejected(url).endswith("is no URL of rules; use sqlite:///FILE or postgresql://HOST/NAME")


def test_a_wrong_url_is_shown_without_its_password() -> None:
    assert "secret" not in rejected("postgresql://ana:secret@host:port/rules")

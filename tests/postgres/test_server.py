from __future__ import annotations

import psycopg
import pytest

from tests.postgres.server import PostgresServer


def tables(url: str) -> list[str]:
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
    return [name for (name,) in found]


# Tests share the server and run in any order.
def test_each_database_is_empty_and_of_its_own(postgres: PostgresServer) -> None:
    first, second = postgres.database(), postgres.database()
    with psycopg.connect(first) as connection:
        connection.execute("CREATE TABLE notes (text TEXT)")
    assert tables(first) == ["notes"]
    assert tables(second) == []


def test_it_listens_on_loopback_alone(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SHOW listen_addresses").fetchone() == ("127.0.0.1",)
        assert connection.execute("SHOW unix_socket_directories").fetchone() == ("",)


def test_a_wrong_database_is_an_error_of_the_driver(postgres: PostgresServer) -> None:
    with pytest.raises(psycopg.OperationalError, match="nowhere"):
        psycopg.connect(f"postgresql://postgres@127.0.0.1:{postgres.port}/nowhere")

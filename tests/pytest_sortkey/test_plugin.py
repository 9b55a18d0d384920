"""The pytest plugin, in runs of pytest of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

pytestmark = pytest.mark.slow

CONFTEST = """
    import pytest
    import sortkey as sk

    class Order(sk.Item, table=sk.Table("shop", ttl="expires")):
        id: str
        expires: int | None = None
        key = sk.Key("ORDER#{id}")

    @pytest.fixture(scope="session")
    def sortkey_tables():
        return [Order]
"""


def run(folder: Path, test: str, *options: str, conftest: str = CONFTEST) -> str:
    """What pytest prints for a test module."""
    (folder / "conftest.py").write_text(dedent(conftest), encoding="utf-8")
    (folder / "test_it.py").write_text(dedent(test), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "pytest_sortkey", *options, "."]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "AWS_"))}
    environment |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "AWS_CONFIG_FILE": os.devnull}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)
    return done.stdout + done.stderr


def test_the_fixtures_share_a_store_with_the_declared_tables(tmp_path: Path) -> None:
    printed = run(
        tmp_path,
        """
        import boto3
        from conftest import Order

        def test_all(dynamodb, dynamodb_client, sortkey_db):
            dynamodb.Table("shop").put_item(Item={"pk": "ORDER#a", "id": "a"})
            assert sortkey_db.get(Order.key(id="a")) == Order(id="a")
            assert dynamodb_client.scan(TableName="shop")["Count"] == 1
            assert boto3.client("dynamodb").list_tables()["TableNames"] == ["shop"]

        def test_a_new_store(dynamodb_client):
            assert dynamodb_client.scan(TableName="shop")["Count"] == 0
        """,
    )
    assert "2 passed" in printed


STAYS = """
    import pytest

    @pytest.mark.parametrize("time", [1, 2])
    def test_it(dynamodb_client, time):
        names = dynamodb_client.list_tables()["TableNames"]
        print("seen", len(names))
        dynamodb_client.create_table(
            TableName=f"table-{len(names)}", KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}], BillingMode="PAY_PER_REQUEST",
        )
"""


@pytest.mark.parametrize(("scope", "seen"), [("module", [0, 1, 0, 1]), ("session", [0, 1, 2, 3])])
def test_the_store_lives_as_long_as_is_said(scope: str, seen: list[int], tmp_path: Path) -> None:
    (tmp_path / "test_another.py").write_text(dedent(STAYS), encoding="utf-8")
    printed = run(tmp_path, STAYS, "-s", "-o", f"sortkey_scope={scope}", conftest="")
    assert "4 passed" in printed
    assert [int(part.split()[0]) for part in printed.split("seen ")[1:]] == seen


def test_an_unknown_scope_is_rejected(tmp_path: Path) -> None:
    assert "sortkey_scope must be one of function, module, session" in run(
        tmp_path, STAYS, "-o", "sortkey_scope=class", conftest=""
    )


FAULTS = """
    import pytest
    from botocore.exceptions import ClientError

    @pytest.mark.sortkey_faults(throttle=1.0)
    def test_throttled(sortkey_db):
        with pytest.raises(ClientError, match="Throttling"):
            sortkey_db.client.scan(TableName="shop")

    def test_not_throttled(sortkey_db):
        sortkey_db.client.scan(TableName="shop")
"""


def test_a_marker_gives_faults(tmp_path: Path) -> None:
    assert "2 passed" in run(tmp_path, FAULTS, "--strict-markers")


def test_a_store_that_tests_share_gets_faults_by_module(tmp_path: Path) -> None:
    printed = run(tmp_path, FAULTS, "-o", "sortkey_scope=module")
    assert "mark the whole module with sortkey_faults" in printed
    assert "1 passed, 1 error" in printed
    marked = FAULTS.replace("    @pytest.mark.", "    pytestmark = pytest.mark.")
    whole, _, _ = marked.partition("    def test_not_throttled")
    assert "1 passed" in run(tmp_path, whole, "-o", "sortkey_scope=module")


def test_moved_time_is_the_stores(tmp_path: Path) -> None:
    printed = run(
        tmp_path,
        """
        from datetime import UTC, datetime
        import time
        import time_machine
        from freezegun import freeze_time

        NOON = datetime(2050, 1, 1, 12, tzinfo=UTC)

        def gone(client):
            until = time.monotonic_ns() + 20 * 10**9
            while client.scan(TableName="shop")["Count"] and time.monotonic_ns() < until:
                pass
            return client.scan(TableName="shop")["Count"] == 0

        def check(client, move):
            expires = str(int(NOON.timestamp()) + 3600)
            client.put_item(TableName="shop", Item={"pk": {"S": "a"}, "expires": {"N": expires}})
            assert client.scan(TableName="shop")["Count"] == 1
            move(3601)
            assert gone(client)

        def test_time_machine(dynamodb_client):
            with time_machine.travel(NOON, tick=False) as traveller:
                check(dynamodb_client, traveller.shift)

        def test_freezegun(dynamodb_client):
            with freeze_time(NOON, real_asyncio=True) as frozen:
                check(dynamodb_client, frozen.tick)
        """,
    )
    assert "2 passed" in printed, printed


def test_workers_of_xdist_have_stores_of_their_own(tmp_path: Path) -> None:
    workers = ("-p", "xdist", "-n", "2", "--dist", "each")
    printed = run(tmp_path, STAYS, *workers, "-o", "sortkey_scope=session", conftest="")
    assert "4 passed" in printed


# It is imported by every pytest of every program that has installed Sortkey.
def test_nothing_is_imported_until_a_fixture_is_asked_for(tmp_path: Path) -> None:
    printed = run(
        tmp_path,
        """
        import sys

        def test_it():
            assert {"sortkey", "boto3", "botocore"} & set(sys.modules) == set()
        """,
        conftest="",
    )
    assert "1 passed" in printed

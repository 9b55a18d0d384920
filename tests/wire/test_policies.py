"""A server with keys enforces the policies of tables and streams."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from sortkey.engine import requests
from sortkey.engine.tables.resource_policy import parse_policy
from sortkey.errors import ValidationException
from sortkey.wire.authentication import KeyHolder, Rights
from tests.wire.serving import ServerProcess, item, table

TABLE = "arn:aws:dynamodb:local:000000000000:table/orders"
USER = "arn:aws:iam::000000000000:user/"
KEYS = {
    "OWNER": {"secret": "s"},
    "READER": {"secret": "s", "tables": {"orders": "read"}},
    "NOBODY": {"secret": "s", "tables": {}},
}


def statement(effect: str, user: str, *actions: str, resource: str = TABLE) -> dict[str, Any]:
    return {
        "Effect": effect,
        "Principal": {"AWS": USER + user},
        "Action": [f"dynamodb:{action}" for action in actions],
        "Resource": [resource, f"{resource}/index/*"] if resource == TABLE else resource,
    }


def policy(*statements: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": statements})


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    path = tmp_path_factory.mktemp("keys") / "keys.json"
    path.write_text(json.dumps(KEYS))
    path.chmod(0o600)
    server = ServerProcess("--memory", "--keys", Path(path))
    owner = sdk(server, "OWNER")
    owner.create_table(**table("orders"))
    owner.put_item(TableName="orders", Item=item(1))
    yield server
    assert server.stop() == 0


def sdk(server: ServerProcess, key_id: str) -> Any:
    return boto3.client(
        "dynamodb",
        endpoint_url=server.url,
        region_name="local",
        aws_access_key_id=key_id,
        aws_secret_access_key="s",
        config=Config(retries={"total_max_attempts": 1}),
    )


@contextmanager
def denied(*words: str) -> Iterator[None]:
    with pytest.raises(ClientError) as caught:
        yield
    error = caught.value.response["Error"]
    assert error["Code"] == "AccessDeniedException"
    assert [word for word in words if word not in error["Message"]] == []


def test_policies_are_enforced(server: ServerProcess) -> None:
    owner, reader, nobody = (sdk(server, name) for name in KEYS)
    with denied(USER + "NOBODY", "because no identity-based policy allows the dynamodb:GetItem action"):
        nobody.get_item(TableName="orders", Key=item(1))
    owner.put_resource_policy(
        ResourceArn=TABLE,
        Policy=policy(
            statement("Allow", "NOBODY", "GetItem", "PutItem"),
            statement("Deny", "READER", "Scan"),
            statement("Deny", "OWNER", "DeleteItem", "DeleteResourcePolicy"),
        ),
    )
    # Allowed without a right of the key's own, and no more than that.
    assert nobody.get_item(TableName="orders", Key=item(1))["Item"] == item(1)
    transaction = [{"Put": {"TableName": "orders", "Item": item(2)}}]
    nobody.transact_write_items(TransactItems=transaction)
    nobody.put_item(TableName="orders", Item=item(2), ReturnValues="ALL_OLD")
    with denied("dynamodb:Query"):
        nobody.query(TableName="orders", KeyConditionExpression="pk = :p", ExpressionAttributeValues={":p": {"S": "a"}})
    # Denied although the key has the right.
    assert reader.get_item(TableName="orders", Key=item(1))["Item"] == item(1)
    with denied(
        USER + "READER", f"dynamodb:Scan on resource: {TABLE} with an explicit deny in a resource-based policy"
    ):
        reader.scan(TableName="orders")
    with denied("explicit deny"):
        owner.delete_item(TableName="orders", Key=item(1))
    # Nobody is locked out for good.
    owner.delete_resource_policy(ResourceArn=TABLE)
    owner.delete_item(TableName="orders", Key=item(2))
    with denied():
        nobody.get_item(TableName="orders", Key=item(1))


def test_a_policy_that_locks_its_author_out_must_be_confirmed() -> None:
    locking = policy(statement("Deny", "OWNER", "PutResourcePolicy"))
    only = policy(statement("Allow", "NOBODY", "GetItem"))
    admitting = {TABLE: parse_policy(policy(statement("Allow", "NOBODY", "PutResourcePolicy")), TABLE)}
    owner = KeyHolder("OWNER", None, {}, now=0.0)
    guest = KeyHolder("NOBODY", Rights({}), admitting, now=0.0)
    for holder, text in ((owner, locking), (guest, only)):
        members = {"ResourceArn": TABLE, "Policy": text}
        with pytest.raises(ValidationException, match="ConfirmRemoveSelfResourceAccess"):
            holder.check("PutResourcePolicy", requests.convert("PutResourcePolicy", members))
        confirmed = requests.convert("PutResourcePolicy", members | {"ConfirmRemoveSelfResourceAccess": True})
        holder.check("PutResourcePolicy", confirmed)
    owner.check("PutResourcePolicy", requests.convert("PutResourcePolicy", {"ResourceArn": TABLE, "Policy": only}))


# As on AWS, PartiQL's actions have names of their own: what is said of Scan does not concern a SELECT.
def test_statements_have_actions_of_their_own() -> None:
    policies = {
        TABLE: parse_policy(
            policy(statement("Allow", "NOBODY", "PartiQLSelect"), statement("Deny", "READER", "PartiQL*")), TABLE
        )
    }
    select = requests.convert("ExecuteStatement", {"Statement": 'SELECT * FROM "orders"."by_city"'})
    insert = requests.convert("ExecuteStatement", {"Statement": "INSERT INTO orders VALUE {'pk': 'a'}"})
    nobody = KeyHolder("NOBODY", Rights({}), policies, now=0.0)
    nobody.check("ExecuteStatement", select)
    with pytest.raises(Exception, match="no identity-based policy allows the dynamodb:PartiQLInsert action"):
        nobody.check("ExecuteStatement", insert)
    with pytest.raises(Exception, match="explicit deny"):
        KeyHolder("READER", Rights({"*": "read"}), policies, now=0.0).check("ExecuteStatement", select)


@pytest.mark.slow
def test_an_index_is_in_its_tables_policy_and_a_stream_has_its_own() -> None:
    stream = f"{TABLE}/stream/2026-08-24T00:00:00.000"
    policies = {
        TABLE: parse_policy(policy(statement("Allow", "NOBODY", "Query")), TABLE),
        stream: parse_policy(policy(statement("Allow", "NOBODY", "GetRecords", resource=stream)), stream),
    }
    nobody = KeyHolder("NOBODY", Rights({}), policies, now=0.0)
    nobody.check("Query", requests.convert("Query", {"TableName": "orders", "IndexName": "by_city"}))
    nobody.check("GetRecords", requests.convert("GetRecords", {"ShardIterator": f"{stream}|1|AAAA"}))
    with pytest.raises(Exception, match="index/by_city because no identity-based policy allows the dynamodb:Scan"):
        nobody.check("Scan", requests.convert("Scan", {"TableName": "orders", "IndexName": "by_city"}))

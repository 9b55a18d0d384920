"""What the tests of `sk.testing` share: boto3 on a machine without any configuration of AWS."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.loaders import create_loader
from botocore.session import Session

TABLE = "orders"
_LOADER = create_loader()
"""Reading botocore's service models again would take most of the tests' time."""


@pytest.fixture
def unconfigured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No region, no credentials, and no default session from other tests."""
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    session = Session()
    session.register_component("data_loader", _LOADER)
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", boto3.Session(botocore_session=session))


def create_table(client: Any, name: str = TABLE, **options: Any) -> None:
    client.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
        **options,
    )


def put(client: Any, name: str) -> None:
    client.put_item(TableName=TABLE, Item={"pk": {"S": name}})


def names(client: Any) -> set[str]:
    """The keys of the table's items."""
    return {item["pk"]["S"] for item in client.scan(TableName=TABLE)["Items"]}

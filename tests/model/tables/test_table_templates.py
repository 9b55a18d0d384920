"""Declared tables as text for other tools: each text describes the table that `create_tables` creates."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import sortkey as sk
from sortkey.model.tables.provision import create_request, ttl_request
from sortkey.model.tables.table_templates import cdk, cloudformation, requests, terraform

PARCELS = sk.Table("parcels-2026.eu", ttl="expires", stream="NEW_AND_OLD_IMAGES")
DEPOTS = sk.Table("depots", provisioned=(5, 10))


class Parcel(sk.Item, table=PARCELS):
    customer: str
    number: int
    status: str
    city: str
    day: str
    expires: int

    key = sk.Key("CUSTOMER#{customer}", "PARCEL#{number}")
    by_status = sk.Index("by_status", ("status", "city"), ("day",), projection="KEYS_ONLY")
    by_city = sk.Index("gsi1", "CITY#{city}", "DAY#{day}", projection=("status",))


class Depot(sk.Item, table=DEPOTS):
    city: str
    name: str
    opened: str

    key = sk.Key("{city}", "{name}")
    by_opening = sk.Index("lsi1", "{city}", "{opened}", local=True)
    by_name = sk.Index("by_name", "{name}")


TABLES = [PARCELS, DEPOTS]


def test_requests_create_the_tables() -> None:
    with sk.connect("memory:") as db:
        for each in json.loads(requests(TABLES)):
            for operation, members in each.items():
                getattr(db.client, re.sub("(?!^)([A-Z])", r"_\1", operation).lower())(**members)
        assert db.diff_tables(Parcel, Depot) == []


def test_cloudformation_has_the_properties_of_the_requests() -> None:
    resources = json.loads(cloudformation(TABLES))["Resources"]
    assert list(resources) == ["Parcels2026Eu", "Depots"]
    assert resources["Parcels2026Eu"]["DeletionPolicy"] == "Retain"
    assert resources["Parcels2026Eu"]["Properties"] == create_request(PARCELS) | {
        "StreamSpecification": {"StreamViewType": "NEW_AND_OLD_IMAGES"},
        "TimeToLiveSpecification": {"AttributeName": "expires", "Enabled": True},
    }
    assert resources["Depots"]["Properties"] == create_request(DEPOTS)


def test_terraform_writes_the_key_of_an_index_with_several_attributes_as_blocks() -> None:
    text = terraform([PARCELS])
    assert text.startswith('resource "aws_dynamodb_table" "parcels_2026_eu" {\n  name ')
    assert '  stream_view_type = "NEW_AND_OLD_IMAGES"\n' in text
    assert (
        """
  global_secondary_index {
    name            = "by_status"
    projection_type = "KEYS_ONLY"

    key_schema {
      attribute_name = "status"
      key_type       = "HASH"
    }

    key_schema {
      attribute_name = "city"
      key_type       = "HASH"
    }

    key_schema {
      attribute_name = "day"
      key_type       = "RANGE"
    }
  }

  global_secondary_index {
    name               = "gsi1"
    projection_type    = "INCLUDE"
    non_key_attributes = ["status"]
    hash_key           = "gsi1pk"
    range_key          = "gsi1sk"
  }

  ttl {
    attribute_name = "expires"
    enabled        = true
  }

  lifecycle {
    prevent_destroy = true
  }
}
"""
        in text
    )


def test_terraform_writes_capacity_and_local_indexes() -> None:
    text = terraform([DEPOTS])
    assert '  billing_mode   = "PROVISIONED"\n  read_capacity  = 5\n  write_capacity = 10\n' in text
    local = re.search(r"  local_secondary_index \{\n(.*?)  \}", text, re.DOTALL)
    assert local is not None
    assert re.findall(r"(\w+) += (.*)", local[1])[:2] == [("name", '"lsi1"'), ("range_key", '"lsi1sk"')]


class Construct(dict[str, Any]):
    """Of the CDK: it remembers what it was made of."""

    def __init__(self, made: list[Construct], name: str, properties: dict[str, Any]) -> None:
        super().__init__(properties)
        self.name = name
        self.policy: str | None = None
        made.append(self)

    def apply_removal_policy(self, policy: str) -> None:
        self.policy = policy


class CfnTable:
    def __init__(self, made: list[Construct]) -> None:
        self._made = made

    def __call__(self, _scope: object, name: str, **properties: Any) -> Construct:
        return Construct(self._made, name, properties)

    def __getattr__(self, name: str) -> Callable[..., dict[str, Any]]:
        assert name.endswith("Property")
        return lambda **members: members


class Stack:
    def __init__(self, _scope: object, _name: str) -> None: ...


@pytest.fixture
def constructs(monkeypatch: pytest.MonkeyPatch) -> list[Construct]:
    """What a stack makes. The CDK itself needs Node.js."""
    made: list[Construct] = []
    modules: dict[str, dict[str, Any]] = {
        "aws_cdk": {"RemovalPolicy": SimpleNamespace(RETAIN="retain"), "Stack": Stack},
        "aws_cdk.aws_dynamodb": {"CfnTable": CfnTable(made)},
        "constructs": {"Construct": object},
    }
    for name, members in modules.items():
        module = ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)
    return made


def test_the_cdk_stack_has_the_properties_of_the_requests(constructs: list[Construct]) -> None:
    names: dict[str, Any] = {}
    exec(cdk(TABLES), names)
    names["Tables"](None, "tables")
    parcels, depots = constructs
    assert (parcels.name, parcels.policy, depots.name) == ("Parcels2026Eu", "retain", "Depots")
    ttl = ttl_request(PARCELS)
    assert ttl is not None
    assert parcels == _snake_keys(
        create_request(PARCELS)
        | {"StreamSpecification": {"StreamViewType": "NEW_AND_OLD_IMAGES"}}
        | {"TimeToLiveSpecification": ttl["TimeToLiveSpecification"]}
    )
    assert depots == _snake_keys(create_request(DEPOTS))


def _snake_keys(value: Any) -> Any:
    match value:
        case dict():
            return {re.sub("(?!^)([A-Z])", r"_\1", name).lower(): _snake_keys(member) for name, member in value.items()}
        case list():
            return list(map(_snake_keys, value))
    return value


# CloudFormation's ids and Terraform's names have fewer characters than table names.
def test_tables_whose_names_would_be_the_same_get_numbers() -> None:
    tables = [sk.Table("trucks-a"), sk.Table("trucks.a")]
    for table in tables:

        class Truck(sk.Item, table=table):
            plate: str
            key = sk.Key("{plate}")

    assert list(json.loads(cloudformation(tables))["Resources"]) == ["TrucksA", "TrucksA2"]
    assert re.findall(r'^resource "\w+" "(\w+)"', terraform(tables), re.MULTILINE) == ["trucks_a", "trucks_a2"]


def test_vector_indexes_are_in_cloudformation_alone() -> None:
    table = sk.Table("vector-template")

    class Dish(sk.Item, table=table):
        name: str
        taste: sk.Vector

        key = sk.Key("DISH#{name}")
        similar = sk.VectorIndex("by_taste", "taste", dimensions=3)

    made = json.loads(cloudformation([table]))["Resources"]["VectorTemplate"]["Properties"]
    assert [each["IndexName"] for each in made["VectorIndexes"]] == ["by_taste"]
    for render in (terraform, cdk):
        with pytest.raises(sk.Unsupported, match="table vector-template: only CloudFormation"):
            render([table])

"""What an audit says of a row's TTL."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

import sortkey as sk
from sortkey.model.audit.classification import Classifier
from sortkey.model.audit.finding import Kind
from tests.model.audit.audited import AUDITED, clean_after_repair, found, order_row


@pytest.mark.parametrize(
    ("stored", "seconds"),
    [
        ({"S": "2027-01-15T08:00:00Z"}, "1800000000"),
        ({"S": "2027-01-15T09:00:00.9+01:00"}, "1800000000"),
        ({"S": "1800000000"}, "1800000000"),
    ],
)
def test_a_ttl_whose_seconds_are_certain(stored: dict[str, Any], seconds: str) -> None:
    row = order_row(expires=stored)
    assert found(row) == [(Kind.TTL, "expires")]
    assert clean_after_repair(row)["expires"] == {"N": seconds}


# To repair a TTL lets the store delete the item, so it must be certain.
@pytest.mark.parametrize(
    "stored",
    [
        {"S": "2027-01-15T08:00:00"},
        {"S": "1800000000000"},
        {"S": "20301231"},
        {"S": "2030"},
        {"S": "0000002030"},
        {"S": "tomorrow"},
        {"N": "1800000000000"},
        {"BOOL": True},
    ],
)
def test_a_ttl_whose_seconds_are_not_certain(stored: dict[str, Any]) -> None:
    verdict = Classifier(AUDITED).classify(order_row(expires=stored))
    assert verdict.findings[0].kind is Kind.TTL
    assert verdict.repair is None


EXPIRING = sk.Table("audited-expiring", ttl="expires")


class Lease(sk.Item, table=EXPIRING, version=2):
    id: str
    expires: int | None = None
    key = sk.Key("LEASE#{id}")


@Lease.upgrade(1)
def time_became_seconds(row: dict[str, Any]) -> dict[str, Any]:
    row["expires"] = int(datetime.fromisoformat(row["expires"]).timestamp())
    return row


class Remark(sk.Item, table=EXPIRING, version=2):
    id: str
    key = sk.Key("REMARK#{id}")


@Remark.upgrade(1)
def unchanged(row: dict[str, Any]) -> dict[str, Any]:
    return row


# What `expires` means in a row of this class, no declaration says.
@pytest.mark.parametrize("upgrade", [False, True])
@pytest.mark.parametrize("version", ["1", "2"])
def test_the_ttl_of_a_class_that_does_not_declare_it(upgrade: bool, version: str) -> None:
    row = {"pk": {"S": "REMARK#1"}, "id": {"S": "1"}, "expires": {"S": "1800000000"}, "_v": {"N": version}}
    verdict = Classifier(EXPIRING, upgrade=upgrade).classify(row)
    assert (verdict.findings[0].kind, verdict.findings[0].repairable) == (Kind.TTL, False)
    assert "Remark does not declare it" in verdict.findings[0].detail
    assert verdict.repair is None or "expires" not in {*verdict.repair.sets, *verdict.repair.removes}


# The upgrade expects the text that rows of the first version have.
def test_a_ttl_whose_repair_would_make_the_row_unreadable() -> None:
    row = {"pk": {"S": "LEASE#1"}, "id": {"S": "1"}, "expires": {"S": "2027-01-15T08:00:00Z"}}
    verdict = Classifier(EXPIRING).classify(row)
    assert [(each.kind, each.repairable) for each in verdict.findings] == [
        (Kind.TTL, False),
        (Kind.OLDER_VERSION, False),
    ]
    assert verdict.repair is None
    upgraded = Classifier(EXPIRING, upgrade=True).classify(row)
    assert all(each.repairable for each in upgraded.findings)
    assert upgraded.repair is not None
    assert upgraded.repair.sets["expires"] == {"N": "1800000000"}

"""Point-in-time recovery and replicas: declared, created on AWS (moto), left out elsewhere, and in templates."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from botocore.exceptions import ClientError
from moto.server import ThreadedMotoServer

import sortkey as sk
from sortkey.client.stores import AWS, EMBEDDED, UNKNOWN, Capabilities
from sortkey.clock import SystemClock
from sortkey.model.calls.create_tables import create_tables
from sortkey.model.calls.steps import Call, Context, Pacing
from sortkey.model.costs.meter import Meter
from sortkey.model.tables.provision import create_request, differences
from sortkey.model.tables.table_templates import cdk, cloudformation, requests, terraform
from tests.model.tables.lint import lint

LEDGER = sk.Table("ledger", point_in_time_recovery=True, replicas=("eu-west-1", "us-east-1"))


class Booking(sk.Item, table=LEDGER):
    account: str
    number: int
    key = sk.Key("ACCOUNT#{account}", "BOOKING#{number}")


VAULT = sk.Table("vault", point_in_time_recovery=True)


class Safe(sk.Item, table=VAULT):
    account: str
    key = sk.Key("VAULT#{account}", "VAULT")


class Note(sk.Item, table=sk.Table("cloud-notes")):
    account: str
    key = sk.Key("NOTE#{account}", "NOTE")


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[sk.Session]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    try:
        with sk.connect(f"http://{host}:{port}?store=aws") as db:
            yield db
            db.drop_tables(VAULT, dry_run=False)
    finally:
        server.stop()


def recovery(db: sk.Session, table: str) -> str:
    found = db.client.describe_continuous_backups(TableName=table)["ContinuousBackupsDescription"]
    status: str = found["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"]
    return status


# DynamoDB copies what the stream has, so no other stream will do, and nobody has to remember it.
def test_a_table_with_replicas_has_the_stream_that_they_need() -> None:
    assert LEDGER.settings.stream == "NEW_AND_OLD_IMAGES"
    assert Note.__table__.settings.stream is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"replicas": ("Ireland",)}, "table wrong: replicas: 'Ireland' is not a region of AWS, such as eu-west-1"),
        ({"replicas": ("eu-west-1a",)}, "'eu-west-1a' is not a region"),
        ({"replicas": (1,)}, "replicas: 1 is not a region"),
        ({"replicas": "eu-west-1"}, r'replicas is a tuple of regions, such as \("eu-west-1", "us-east-1"\), not'),
        ({"replicas": ("eu-west-1", "us-east-1", "eu-west-1")}, "replicas names eu-west-1 twice"),
        ({"replicas": ("eu-west-1",), "stream": "KEYS_ONLY"}, "has a stream with NEW_AND_OLD_IMAGES, not KEYS_ONLY"),
        ({"replicas": ("eu-west-1",), "provisioned": (5, 5)}, "paid on demand"),
        ({"point_in_time_recovery": "yes"}, "point_in_time_recovery is True or False, not 'yes'"),
    ],
)
def test_wrong_declarations_are_told(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(sk.DeclarationError, match=message):
        sk.Table("wrong", **settings)


@pytest.mark.slow
def test_create_tables_turns_recovery_on(aws: sk.Session) -> None:
    assert aws.create_tables(VAULT) == ["vault"]
    assert recovery(aws, "vault") == "ENABLED"
    assert aws.diff_tables(VAULT) == []
    assert aws.create_tables(VAULT) == []


# As with TTL, nothing of an existing table is changed behind anyone's back.
@pytest.mark.slow
@pytest.mark.usefixtures("brief_polls")
def test_an_existing_table_without_recovery_is_told(aws: sk.Session) -> None:
    class Plain(sk.Item, table=sk.Table("vault")):
        account: str
        key = sk.Key("VAULT#{account}", "VAULT")

    aws.create_tables(Plain)
    with pytest.raises(sk.TablesDiffer, match="table vault: its point-in-time recovery is off, but declared"):
        aws.create_tables(VAULT)
    assert recovery(aws, "vault") == "DISABLED"
    # More than is declared is no difference.
    turned_on = {"PointInTimeRecoveryEnabled": True}
    aws.client.update_continuous_backups(TableName="vault", PointInTimeRecoverySpecification=turned_on)
    assert aws.diff_tables(VAULT, Plain) == []


def described(table: sk.Table, *regions: str, **more: Any) -> dict[str, Any]:
    """As DescribeTable describes a table of eu-west-1 with replicas."""
    billing = {"BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"}}
    arn = {"TableArn": f"arn:aws:dynamodb:eu-west-1:123456789012:table/{table.name}"}
    return {**create_request(table), **billing, **arn, "Replicas": [{"RegionName": each} for each in regions], **more}


def test_a_replica_that_is_missing_is_told() -> None:
    on = {"PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": "ENABLED"}}
    compared = partial(differences, LEDGER, ttl=None, backups=on, regions=True)
    assert compared(description=described(LEDGER, "us-east-1")) == []
    assert compared(description=described(LEDGER, "us-east-1", "ap-south-1")) == []
    (told,) = compared(description=described(LEDGER))
    assert told.startswith("table ledger: it has no replica in us-east-1, which is declared")


# Somebody who adds a region to a table in the console must not break the programs that use it.
def test_a_table_that_was_given_replicas_may_have_their_stream() -> None:
    stream = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}}
    table = Note.__table__
    assert differences(table, described(table, "us-east-1", **stream), None, regions=True) == []
    (told,) = differences(table, described(table, **stream), None, regions=True)
    assert "its stream is NEW_AND_OLD_IMAGES, but None is declared" in told


def test_replicas_are_added_one_after_the_other_to_the_region_of_the_table() -> None:
    class Wide(sk.Item, table=sk.Table("wide", replicas=("us-east-1", "eu-west-1", "ap-south-1"))):
        account: str
        key = sk.Key("{account}", "WIDE")

    store = Refusing(AWS, {})
    store.create(Wide.__table__)
    assert store.replicas == ["us-east-1", "ap-south-1"]
    assert store.sent.count("UpdateTable") == 2


def test_a_store_without_regions_creates_the_table_and_says_what_it_lacks(
    store: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING), sk.connect(store) as db:
        assert db.create_tables(LEDGER) == ["ledger"]
        assert db.diff_tables(LEDGER) == []
        assert db.create_tables(LEDGER) == []
        db.put(Booking(account="ada", number=1))
    (noted,) = [each.getMessage() for each in caplog.records if "created without" in each.getMessage()]
    assert noted.startswith("table ledger was created without ")
    assert "replicas=, which " in noted


class Refusing:
    """Carries out the steps of `create_tables` for a store that knows tables, and refuses one operation."""

    def __init__(self, capabilities: Capabilities, refused: dict[str, list[str]]) -> None:
        self._context = Context(capabilities, Meter(), Pacing(), b"secret", SystemClock())
        self._refused = refused
        self.sent: list[str] = []
        self.replicas: list[str] = []

    def create(self, table: sk.Table) -> None:
        steps = create_tables(self._context, [table])
        try:
            step = next(steps)
            while True:
                if not isinstance(step, Call):
                    step = steps.send(None)
                    continue
                self.sent.append(step.operation)
                added = step.members.get("ReplicaUpdates", ())
                self.replicas += [each["Create"]["RegionName"] for each in added]
                code = self._code(step.operation)
                if code is not None:
                    response: Any = {"Error": {"Code": code, "Message": "no"}}
                    step = steps.throw(ClientError(response, step.operation))
                else:
                    step = steps.send(self._answer(step.operation))
        except StopIteration:
            pass

    def _code(self, operation: str) -> str | None:
        if operation == "DescribeTable" and "CreateTable" not in self.sent:
            return "ResourceNotFoundException"
        left = self._refused.get(operation)
        return left.pop(0) if left else None

    def _answer(self, operation: str) -> dict[str, Any]:
        table = {"TableStatus": "ACTIVE", "TableArn": "arn:aws:dynamodb:eu-west-1:1:table/ledger"}
        return {"Table": table} if operation == "DescribeTable" else {}


# "Backups are being enabled for the table. Please retry later": for a moment, of every new table.
def test_backups_that_are_not_ready_yet_are_waited_for() -> None:
    store = Refusing(AWS, {"UpdateContinuousBackups": ["ContinuousBackupsUnavailableException"] * 2})
    store.create(LEDGER)
    assert store.sent.count("UpdateContinuousBackups") == 3
    assert store.sent[-1] == "UpdateTable"


@pytest.mark.parametrize(
    ("operation", "code", "setting"),
    [
        ("UpdateContinuousBackups", "UnknownOperationException", "point_in_time_recovery"),
        ("UpdateTable", "ValidationException", "replicas"),
    ],
)
def test_an_endpoint_that_refuses_them_is_an_error_in_words(operation: str, code: str, setting: str) -> None:
    with pytest.raises(sk.Unsupported, match=f"table ledger was created, but an unknown .* refuses its {setting}="):
        Refusing(UNKNOWN, {operation: [code]}).create(LEDGER)


def test_a_missing_right_stays_what_it_is() -> None:
    with pytest.raises(ClientError, match="AccessDeniedException"):
        Refusing(AWS, {"UpdateContinuousBackups": ["AccessDeniedException"]}).create(LEDGER)


def test_the_embedded_store_is_asked_for_no_replica() -> None:
    store = Refusing(EMBEDDED, {})
    store.create(LEDGER)
    assert store.sent == ["DescribeTable", "CreateTable", "DescribeTable", "UpdateContinuousBackups"]


def test_the_requests_as_json_add_the_other_regions_to_the_first() -> None:
    sent = json.loads(requests([LEDGER]))
    assert [next(iter(each)) for each in sent] == ["CreateTable", "UpdateContinuousBackups", "UpdateTable"]
    assert sent[-1]["UpdateTable"]["ReplicaUpdates"] == [{"Create": {"RegionName": "us-east-1"}}]


# CloudFormation wants the stack's own region among the replicas, whichever it is.
@pytest.mark.slow
def test_cloudformation_makes_a_global_table_that_cfn_lint_accepts() -> None:
    text = cloudformation([LEDGER, Note.__table__])
    assert lint(text) == []
    resources = json.loads(text)["Resources"]
    assert resources["Ledger"]["Type"] == "AWS::DynamoDB::GlobalTable"
    *declared, own = resources["Ledger"]["Properties"]["Replicas"]
    on = {"PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True}}
    assert declared == [{"Region": "eu-west-1", **on}, {"Region": "us-east-1", **on}]
    assert own["Fn::If"] == ["LedgerIsElsewhere", {"Region": {"Ref": "AWS::Region"}, **on}, {"Ref": "AWS::NoValue"}]
    assert resources["CloudNotes"]["Type"] == "AWS::DynamoDB::Table"


def test_terraform_and_the_cdk_leave_out_the_region_that_has_the_table() -> None:
    terraformed = terraform([LEDGER])
    assert 'setsubtract(["eu-west-1", "us-east-1"], [data.aws_region.current.name])' in terraformed
    assert "point_in_time_recovery {\n    enabled = true" in terraformed
    made = cdk([LEDGER])
    compile(made, "stack", "exec")
    assert "CfnGlobalTable.ReplicaSpecificationProperty(region=region, point_in_time_recovery_specification=" in made
    assert 'in dict.fromkeys([self.region, "eu-west-1", "us-east-1"])' in made

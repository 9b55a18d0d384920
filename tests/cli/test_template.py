"""`sortkey template`: stacks that cfn-lint accepts, and that create the declared tables in moto's CloudFormation."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

import sortkey as sk
from sortkey import lambda_functions
from sortkey.cli.main import main
from sortkey.cli.services import registered_services, service_named
from sortkey.model.tables.provision import differences, tables_of
from sortkey.server import tokens
from tests.model.tables.lint import lint

NAMES = [each.name for each in registered_services(lambda _: None)]


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["template", *arguments]) == 0
    return capsys.readouterr().out


def resources(text: str, kind: str) -> dict[str, Any]:
    found = json.loads(text)["Resources"]
    return {name: each.get("Properties", {}) for name, each in found.items() if each["Type"] == f"AWS::{kind}"}


@pytest.mark.slow
@pytest.mark.parametrize("service", NAMES)
def test_cfn_lint_accepts_the_stack_of_each_service(service: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert lint(printed(capsys, service)) == []


# With everything: another zone, tokens, replicas, a prefix.
@pytest.mark.slow
def test_cfn_lint_accepts_all_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, entry = tokens.create("shop", ["pricing:read"])
    path = tmp_path / "tokens.toml"
    path.touch(mode=0o600)
    path.write_text(entry)
    config = tmp_path / "services.toml"
    config.write_text('[pricing]\ncurrency = "GBP"\n')
    regions = ("--replicas", "eu-west-1", "us-east-1")
    text = printed(capsys, "pricing", "--tokens", str(path), "--config", str(config), *regions, "--prefix", "prod-")
    assert lint(text) == []
    assert {each["TableName"] for each in resources(text, "DynamoDB::GlobalTable").values()} == {
        "prod-prices",
        "prod-price-changes",
        "prod-sortkey-requests",
    }
    assert resources(text, "Lambda::Url")["HttpUrl"]["AuthType"] == "NONE"
    variables = resources(text, "Lambda::Function")["HttpFunction"]["Environment"]["Variables"]
    assert json.loads(variables["SETTINGS"]) == {"currency": "GBP"}
    assert variables["TOKENS"] == entry
    assert variables["STORE"] == {"Fn::Sub": "dynamodb://${AWS::Region}?prefix=prod-"}


@pytest.mark.slow
def test_lint_sees_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "boosts").replace('"AWS_IAM"', '"NOBODY"')
    assert any("NOBODY" in each for each in lint(text))


def test_the_aggregator_is_a_function_on_the_stream(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "favourites")
    (mapping,) = resources(text, "Lambda::EventSourceMapping").values()
    assert mapping["EventSourceArn"] == {"Fn::GetAtt": ["FavouritesTable", "StreamArn"]}
    assert mapping["TumblingWindowInSeconds"] == 60
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert mapping["DestinationConfig"] == {"OnFailure": {"Destination": {"Fn::GetAtt": ["DeadLetters", "Arn"]}}}
    function = resources(text, "Lambda::Function")["FeedFavouriteCountsFunction"]
    assert function["Handler"] == "sortkey.lambda_functions.feed"
    assert function["Environment"]["Variables"]["FEED"] == "favourite-counts"
    (mapping,) = resources(printed(capsys, "favourites", "--window", "0"), "Lambda::EventSourceMapping").values()
    assert "TumblingWindowInSeconds" not in mapping


def test_handlers_are_there(capsys: pytest.CaptureFixture[str]) -> None:
    used = set()
    for service in NAMES:
        for function in resources(printed(capsys, service), "Lambda::Function").values():
            module, _, name = function["Handler"].rpartition(".")
            assert module == lambda_functions.__name__
            assert callable(getattr(lambda_functions, name))
            used.add(name)
    assert used == {"http", "feed", "schedules", "due", "maintenance"}


# An alarm that is forgotten is noticed when it is too late.
@pytest.mark.parametrize("service", NAMES)
def test_everything_that_can_fail_has_an_alarm(service: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, service)
    watched = {
        (each["MetricName"], json.dumps(each["Dimensions"][0]["Value"]))
        for each in resources(text, "CloudWatch::Alarm").values()
    }
    needed = {("Url5xxCount", '{"Ref": "HttpFunction"}')}
    for name in resources(text, "Lambda::Function"):
        needed |= {(metric, json.dumps({"Ref": name})) for metric in ("Errors", "Throttles")}
    for mapping in resources(text, "Lambda::EventSourceMapping").values():
        needed.add(("IteratorAge", json.dumps({"Ref": mapping["FunctionName"]["Fn::GetAtt"][0]})))
    for name in resources(text, "DynamoDB::Table"):
        needed |= {(metric, json.dumps({"Ref": name})) for metric in ("ReadThrottleEvents", "WriteThrottleEvents")}
    if resources(text, "SQS::Queue"):
        needed.add(("ApproximateNumberOfMessagesVisible", '{"Fn::GetAtt": ["DeadLetters", "QueueName"]}'))
    assert watched == needed


@pytest.mark.parametrize("service", NAMES)
def test_no_role_may_do_everything(service: str, capsys: pytest.CaptureFixture[str]) -> None:
    for role in resources(printed(capsys, service), "IAM::Role").values():
        for statement in role["Policies"][0]["PolicyDocument"]["Statement"]:
            assert statement["Resource"] != ["*"]
            assert "*" not in statement["Resource"]
            assert all(not action.endswith("*") for action in statement["Action"])


def test_tables_are_recoverable_unless_told_otherwise(capsys: pytest.CaptureFixture[str]) -> None:
    on = {"PointInTimeRecoveryEnabled": True}
    tables = resources(printed(capsys, "social"), "DynamoDB::Table")
    assert tables
    assert all(each["PointInTimeRecoverySpecification"] == on for each in tables.values())
    others = resources(printed(capsys, "boosts", "--no-recovery"), "DynamoDB::Table")
    assert all("PointInTimeRecoverySpecification" not in each for each in others.values())


def test_too_many_readers_of_a_stream_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["template", "social", "--replicas", "eu-west-1", "us-east-1"]) == 0
    told = capsys.readouterr().err.splitlines()
    assert told[0].startswith("sortkey template: 2 functions read the stream of social, and DynamoDB serves 1 of them")
    assert main(["template", "social"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["favorites"], "there is no service 'favorites'"),
        (["favourites", "--replicas", "Ireland"], "replicas: 'Ireland' is not a region of AWS"),
        (["favourites", "--prefix", "a b"], "a table name prefix has only letters"),
        (["favourites", "--tokens", "/nowhere.toml"], "cannot read the tokens in /nowhere.toml"),
        (["favourites", "--config", "/nowhere.toml"], "cannot read the configuration in /nowhere.toml"),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["template", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_settings_that_no_function_can_hold_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "services.toml"
    tenants = "".join(
        f'[boosts.tenants.t{number}]\nareas = "zoned"\ntimezone = "Europe/Berlin"\n' for number in range(200)
    )
    config.write_text(f"[boosts]\n{tenants}")
    assert main(["template", "boosts", "--config", str(config)]) == 2
    assert "run the service in a container" in capsys.readouterr().err


# Moto knows tables, roles, functions, mappings and queues of CloudFormation, not function URLs, schedules and alarms.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Tried to parse:UserWarning")
@pytest.mark.parametrize("service", ["favourites", "pricing", "goals"])
def test_the_stack_creates_the_declared_tables(
    service: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    template = json.loads(printed(capsys, service))
    del template["Outputs"]
    with mock_aws():
        _upload("packages", "sortkey.zip")
        given = {"CodeBucket": "packages", "CodeKey": "sortkey.zip", "CursorSecret": "s" * 32}
        formation: Any = boto3.client("cloudformation", "us-east-1")
        formation.create_stack(
            StackName=service,
            TemplateBody=json.dumps(template),
            Capabilities=["CAPABILITY_IAM"],
            Parameters=[{"ParameterKey": name, "ParameterValue": value} for name, value in given.items()],
        )
        assert formation.describe_stacks(StackName=service)["Stacks"][0]["StackStatus"] == "CREATE_COMPLETE"
        for table in tables_of(service_named(service).tables({})):
            assert _differences(table) == []


def _upload(bucket: str, key: str) -> None:
    storage: Any = boto3.client("s3", "us-east-1")
    storage.create_bucket(Bucket=bucket)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as package:
        package.writestr("empty.py", "")
    storage.put_object(Bucket=bucket, Key=key, Body=packed.getvalue())


def _differences(table: sk.Table) -> list[str]:
    client: Any = boto3.client("dynamodb", "us-east-1")
    described = client.describe_table(TableName=table.name)["Table"]
    # Moto's CloudFormation ignores it.
    ttl = {"AttributeName": table.ttl_attribute, "TimeToLiveStatus": "ENABLED"}
    return differences(table, described, ttl, regions=True)

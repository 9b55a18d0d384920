"""The AWS CLI, as people type it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.wire.sdk.orders import BY_STATUS, OF_ANN, SHIP, key, order, orders
from tests.wire.serving import ServerProcess

ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_DEFAULT_REGION": "eu-west-1",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
}
# The executable is not always on the path; the package is always where Python is.
COMMAND = [sys.executable, "-W", "ignore", "-c", "import sys; from awscli.clidriver import main; sys.exit(main())"]


class CommandLine:
    def __init__(self, url: str) -> None:
        self._url = url

    def run(self, service: str, operation: str, *options: str, **members: Any) -> dict[str, Any]:
        arguments = ["--cli-input-json", json.dumps(members), "--endpoint-url", self._url, "--output", "json", *options]
        done = subprocess.run(
            [*COMMAND, service, operation, *arguments],
            env=os.environ | ENVIRONMENT,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(done.stderr)
        answer: dict[str, Any] = json.loads(done.stdout or "{}")
        return answer

    def db(self, operation: str, *options: str, **members: Any) -> dict[str, Any]:
        return self.run("dynamodb", operation, *options, **members)


@pytest.mark.slow
def test_session(server: ServerProcess) -> None:
    aws = CommandLine(server.url)
    name = "aws-cli"
    aws.db("create-table", **orders(name))
    assert aws.db("describe-table", TableName=name)["Table"]["TableStatus"] == "ACTIVE"
    aws.db("put-item", TableName=name, Item=order(1))
    aws.db("update-item", TableName=name, Key=key(1), **SHIP)
    with pytest.raises(RuntimeError, match=r"ConditionalCheckFailedException.*The conditional request failed"):
        aws.db("update-item", TableName=name, Key=key(1), **SHIP)
    writes = [{"PutRequest": {"Item": order(number)}} for number in range(2, 12)]
    aws.db("batch-write-item", RequestItems={name: writes})
    assert aws.db("query", TableName=name, **BY_STATUS)["Count"] == 10
    # The CLI follows the pages by itself.
    assert len(aws.db("query", "--page-size", "3", TableName=name, **OF_ANN)["Items"]) == 11
    put = {"Put": {"TableName": name, "Item": order(99)}}
    aws.db("transact-write-items", TransactItems=[put, {"Delete": {"TableName": name, "Key": key(2)}}])
    arn = aws.db("describe-table", TableName=name)["Table"]["LatestStreamArn"]
    shards = aws.run("dynamodbstreams", "describe-stream", StreamArn=arn)["StreamDescription"]["Shards"]
    start = {"StreamArn": arn, "ShardId": shards[0]["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
    iterator = aws.run("dynamodbstreams", "get-shard-iterator", **start)["ShardIterator"]
    assert len(aws.run("dynamodbstreams", "get-records", ShardIterator=iterator)["Records"]) == 14
    aws.db("delete-table", TableName=name)


# What users try first.
@pytest.mark.slow
def test_the_short_forms(server: ServerProcess) -> None:
    aws = CommandLine(server.url)
    assert "TableNames" in aws.db("list-tables", "--max-items", "5")

"""A service as a stack of CloudFormation: its tables, its functions with the rights that each needs, and alarms.

    tables      with point-in-time recovery, and replicas if there are any; kept when the stack is deleted
    http        REST and GraphQL behind a function URL: for callers that IAM knows, or for holders of tokens
    feeds       a function for each change feed, on the stream of its table
    timers      one function that makes schedules, one that they call
    upkeep      the service's maintenance, every hour
    queue       what a feed or a timer gave up; an alarm tells that there is something
    alarms      errors, throttles, answers with 5xx, streams that are read late, throttled tables

All functions run the same package. Each has a role of its own, which names the tables that it may use.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sortkey.model.items.table import Table
from sortkey.model.tables.table_templates import cloudformation_tables, logical_ids

RUNTIME: Final = "python3.13"
HTTP_SECONDS: Final = 29
FEED_SECONDS: Final = 120
UPKEEP_SECONDS: Final = 300
LATE_MILLISECONDS: Final = 60_000
READERS: Final = 2
"""Functions that may read one shard of a stream; of a table with replicas, one."""

Members = dict[str, Any]

_ITEM_RIGHTS: Final = (
    "BatchGetItem",
    "BatchWriteItem",
    "ConditionCheckItem",
    "DeleteItem",
    "GetItem",
    "PutItem",
    "Query",
    "UpdateItem",
)
_TABLE_RIGHTS: Final = ("DescribeContinuousBackups", "DescribeTable", "DescribeTimeToLive")
"""With which a service checks at its start that the tables are as declared."""
_STREAM_RIGHTS: Final = ("DescribeStream", "GetRecords", "GetShardIterator", "ListStreams")


@dataclass(frozen=True)
class Stack:
    """What a stack is made of."""

    service: str
    """As commands name it."""
    tables: Sequence[Table]
    """With the names, the recovery and the replicas that they have in the stack."""
    feeds: Mapping[str, Table] = field(default_factory=dict)
    """The table of each change feed, by the feed's name."""
    timers: Mapping[str, Table] = field(default_factory=dict)
    upkeep: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    prefix: str = ""
    """Of the tables' names."""
    tokens: str | None = None
    """The text of a tokens file; None for callers that IAM knows."""
    window: int = 60
    """Seconds of the tumbling window, with which Lambda tells the shard of each change; 0 for none."""


def template(stack: Stack) -> str:
    """The template, in JSON."""
    made = _Template(stack)
    made.add_all()
    return json.dumps(made.members(), indent=2) + "\n"


def crowded(stack: Stack) -> Iterator[str]:
    """What Lambda advises against: more functions on a stream than it reads for."""
    readers = [*stack.feeds.values(), *stack.timers.values()]
    for table in dict.fromkeys(readers):
        most = 1 if table.settings.replicas else READERS
        if readers.count(table) > most:
            yield (
                f"{readers.count(table)} functions read the stream of {table.name}, and DynamoDB serves {most} of them "
                f"without throttling; run some of its feeds by sortkey follow instead"
            )


class _Template:
    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        tables = {f"{name}Table": table for name, table in logical_ids(stack.tables).items()}
        self._ids = {table.name: name for name, table in tables.items()}
        made = cloudformation_tables(tables)
        self._resources: Members = made["Resources"]
        self._conditions: Members = {
            **made.get("Conditions", {}),
            "HasAlarmTopic": {"Fn::Not": [{"Fn::Equals": [{"Ref": "AlarmTopic"}, ""]}]},
        }
        self._outputs: Members = {}

    def members(self) -> Members:
        return {
            "AWSTemplateFormatVersion": "2010-09-09",
            "Description": f"The service {self._stack.service} of Sortkey, made by sortkey template",
            "Parameters": _PARAMETERS,
            "Conditions": self._conditions,
            "Resources": self._resources,
            "Outputs": self._outputs,
        }

    def add_all(self) -> None:
        stack = self._stack
        self._add_http()
        for name, table in stack.feeds.items():
            self._add_feed(name, table)
        for name, table in stack.timers.items():
            self._add_timers(name, table)
        if stack.upkeep:
            self._add_upkeep()
        if stack.feeds or stack.timers:
            self._add_dead_letters()
        for table in stack.tables:
            self._add_table_alarms(table)

    # Functions

    def _add_http(self) -> None:
        tokens = self._stack.tokens
        more = {} if tokens is None else {"TOKENS": tokens}
        self._function("Http", "http", HTTP_SECONDS, more, [self._items()])
        self._resources["HttpUrl"] = {
            "Type": "AWS::Lambda::Url",
            "Properties": {
                "AuthType": "AWS_IAM" if tokens is None else "NONE",
                "TargetFunctionArn": _arn("HttpFunction"),
            },
        }
        if tokens is None:
            self._add_callers_policy()
        else:
            # Lambda asks for both.
            self._permission("HttpUrlPermission", "InvokeFunctionUrl", {"FunctionUrlAuthType": "NONE"})
            self._permission("HttpInvokePermission", "InvokeFunction", {"InvokedViaFunctionUrl": True})
        self._alarm("Http5xx", "AWS/Lambda", "Url5xxCount", _of_function("HttpFunction"), "answers with 5xx")
        self._outputs["Url"] = {"Value": {"Fn::GetAtt": ["HttpUrl", "FunctionUrl"]}}

    def _add_callers_policy(self) -> None:
        statements = [
            _allow(["lambda:InvokeFunctionUrl"], [_arn("HttpFunction")]),
            _allow(["lambda:InvokeFunction"], [_arn("HttpFunction")])
            | {"Condition": {"Bool": {"lambda:InvokedViaFunctionUrl": "true"}}},
        ]
        self._resources["CallersPolicy"] = {
            "Type": "AWS::IAM::ManagedPolicy",
            "Properties": {
                "Description": f"May call the service {self._stack.service}",
                "PolicyDocument": _policy(statements),
            },
        }
        self._outputs["CallersPolicy"] = {"Value": {"Ref": "CallersPolicy"}}

    def _permission(self, name: str, right: str, more: Members) -> None:
        self._resources[name] = {
            "Type": "AWS::Lambda::Permission",
            "Properties": {
                "Action": f"lambda:{right}",
                "FunctionName": _arn("HttpFunction"),
                "Principal": "*",
                **more,
            },
        }

    def _add_feed(self, name: str, table: Table) -> None:
        prefix = self._prefix(name)
        rights = [self._items(), self._stream(table), _sends_to_queue()]
        self._function(prefix, "feed", FEED_SECONDS, {"FEED": name}, rights)
        window = {"TumblingWindowInSeconds": self._stack.window} if self._stack.window else {}
        self._mapping(prefix, table, window)

    def _add_timers(self, name: str, table: Table) -> None:
        prefix = self._prefix(name)
        due, role, group = f"{prefix}Due", f"{prefix}SchedulerRole", f"{prefix}Schedules"
        self._function(due, "due", FEED_SECONDS, {"FEED": name}, [self._items(), _sends_to_queue()])
        self._resources[f"{due}Retries"] = {
            "Type": "AWS::Lambda::EventInvokeConfig",
            "Properties": {
                "FunctionName": {"Ref": f"{due}Function"},
                "Qualifier": "$LATEST",
                "MaximumRetryAttempts": 2,
                "DestinationConfig": {"OnFailure": {"Destination": _arn("DeadLetters")}},
            },
        }
        self._resources[group] = {"Type": "AWS::Scheduler::ScheduleGroup"}
        calls = [_allow(["lambda:InvokeFunction"], [_arn(f"{due}Function")]), _sends_to_queue()]
        self._resources[role] = _role("scheduler.amazonaws.com", calls)
        in_group = f"schedule/${{{group}}}/*"
        made = {"Fn::Sub": f"arn:${{AWS::Partition}}:scheduler:${{AWS::Region}}:${{AWS::AccountId}}:{in_group}"}
        rights = [
            self._items(),
            self._stream(table),
            _sends_to_queue(),
            _allow(["scheduler:CreateSchedule", "scheduler:DeleteSchedule"], [made]),
            _allow(["iam:PassRole"], [_arn(role)])
            | {"Condition": {"StringEquals": {"iam:PassedToService": "scheduler.amazonaws.com"}}},
        ]
        environment = {
            "FEED": name,
            "DUE_ARN": _arn(f"{due}Function"),
            "ROLE_ARN": _arn(role),
            "GROUP": {"Ref": group},
            "DEAD_LETTERS_ARN": _arn("DeadLetters"),
        }
        self._function(prefix, "schedules", FEED_SECONDS, environment, rights)
        self._mapping(prefix, table, {})

    def _add_upkeep(self) -> None:
        scans = _allow(["dynamodb:Scan"], [_arn(self._ids[table.name]) for table in self._stack.tables])
        self._function("Upkeep", "maintenance", UPKEEP_SECONDS, {}, [self._items(), scans])
        calls = [_allow(["lambda:InvokeFunction"], [_arn("UpkeepFunction")])]
        self._resources["UpkeepSchedulerRole"] = _role("scheduler.amazonaws.com", calls)
        self._resources["UpkeepSchedule"] = {
            "Type": "AWS::Scheduler::Schedule",
            "Properties": {
                "ScheduleExpression": "rate(1 hour)",
                "FlexibleTimeWindow": {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 15},
                "Target": {
                    "Arn": _arn("UpkeepFunction"),
                    "RoleArn": _arn("UpkeepSchedulerRole"),
                    "RetryPolicy": {"MaximumRetryAttempts": 0},
                },
            },
        }

    def _function(self, prefix: str, handler: str, seconds: int, environment: Members, rights: list[Members]) -> None:
        """A function with its role, its log, and the alarms that every function has."""
        logs = f"{prefix}Logs"
        self._resources[logs] = {"Type": "AWS::Logs::LogGroup", "Properties": {"RetentionInDays": {"Ref": "LogDays"}}}
        writes_log = _allow(["logs:CreateLogStream", "logs:PutLogEvents"], [_arn(logs)])
        self._resources[f"{prefix}Role"] = _role("lambda.amazonaws.com", [writes_log, *rights])
        self._resources[f"{prefix}Function"] = {
            "Type": "AWS::Lambda::Function",
            "Properties": {
                "Description": f"{self._stack.service}: {environment.get('FEED', handler)}, {handler}",
                "Runtime": RUNTIME,
                "Architectures": [{"Ref": "Architecture"}],
                "Handler": f"sortkey.lambda_functions.{handler}",
                "Code": {"S3Bucket": {"Ref": "CodeBucket"}, "S3Key": {"Ref": "CodeKey"}},
                "MemorySize": {"Ref": "MemoryMegabytes"},
                "Timeout": seconds,
                "Role": _arn(f"{prefix}Role"),
                "LoggingConfig": {"LogGroup": {"Ref": logs}},
                "Environment": {"Variables": {**self._environment(), **environment}},
            },
        }
        of_function = _of_function(f"{prefix}Function")
        self._alarm(f"{prefix}Errors", "AWS/Lambda", "Errors", of_function, "calls that failed")
        self._alarm(f"{prefix}Throttles", "AWS/Lambda", "Throttles", of_function, "calls for which Lambda had no room")

    def _environment(self) -> Members:
        settings = {"SETTINGS": json.dumps(self._stack.settings)} if self._stack.settings else {}
        option = f"?prefix={self._stack.prefix}" if self._stack.prefix else ""
        return {
            "SERVICE": self._stack.service,
            "STORE": {"Fn::Sub": f"dynamodb://${{AWS::Region}}{option}"},
            "SORTKEY_CURSOR_SECRET": {"Ref": "CursorSecret"},
            **settings,
        }

    def _mapping(self, prefix: str, table: Table, more: Members) -> None:
        """A function on the stream of a table. What cannot be handled goes to the queue, and the rest goes on."""
        self._resources[f"{prefix}Mapping"] = {
            "Type": "AWS::Lambda::EventSourceMapping",
            "Properties": {
                "EventSourceArn": {"Fn::GetAtt": [self._ids[table.name], "StreamArn"]},
                "FunctionName": _arn(f"{prefix}Function"),
                "StartingPosition": "TRIM_HORIZON",
                "BatchSize": 1000,
                "MaximumBatchingWindowInSeconds": 1,
                "FunctionResponseTypes": ["ReportBatchItemFailures"],
                "BisectBatchOnFunctionError": True,
                "MaximumRetryAttempts": 100,
                "DestinationConfig": {"OnFailure": {"Destination": _arn("DeadLetters")}},
                **more,
            },
        }
        of_function = _of_function(f"{prefix}Function")
        what = "milliseconds that changes wait"
        self._alarm(f"{prefix}Late", "AWS/Lambda", "IteratorAge", of_function, what, LATE_MILLISECONDS, "Maximum")

    def _prefix(self, feed: str) -> str:
        """Of the logical ids of a feed; `a-b` and `a.b` would have the same."""
        words = "".join(each if each.isascii() and each.isalnum() else " " for each in feed).split()
        name = "Feed" + "".join(word[0].upper() + word[1:] for word in words)
        while f"{name}Function" in self._resources:
            name += "2"
        return name

    # Rights

    def _items(self) -> Members:
        arns = [_arn(self._ids[table.name]) for table in self._stack.tables]
        indexes = [
            {"Fn::Sub": f"${{{self._ids[table.name]}.Arn}}/index/*"} for table in self._stack.tables if table.indexes()
        ]
        return _allow([f"dynamodb:{right}" for right in (*_ITEM_RIGHTS, *_TABLE_RIGHTS)], [*arns, *indexes])

    def _stream(self, table: Table) -> Members:
        streams = {"Fn::Sub": f"${{{self._ids[table.name]}.Arn}}/stream/*"}
        return _allow([f"dynamodb:{right}" for right in _STREAM_RIGHTS], [streams])

    # Alarms

    def _add_dead_letters(self) -> None:
        self._resources["DeadLetters"] = {
            "Type": "AWS::SQS::Queue",
            "DeletionPolicy": "Retain",
            "UpdateReplacePolicy": "Retain",
            "Properties": {"MessageRetentionPeriod": 1_209_600, "SqsManagedSseEnabled": True},
        }
        of_queue = [{"Name": "QueueName", "Value": {"Fn::GetAtt": ["DeadLetters", "QueueName"]}}]
        metric = "ApproximateNumberOfMessagesVisible"
        self._alarm("DeadLettersWait", "AWS/SQS", metric, of_queue, "dead letters", statistic="Maximum")
        self._outputs["DeadLetters"] = {"Value": {"Ref": "DeadLetters"}}

    def _add_table_alarms(self, table: Table) -> None:
        name = self._ids[table.name]
        of_table = [{"Name": "TableName", "Value": {"Ref": name}}]
        for metric in ("ReadThrottleEvents", "WriteThrottleEvents"):
            self._alarm(f"{name}{metric}", "AWS/DynamoDB", metric, of_table, f"throttled requests of {table.name}")

    def _alarm(
        self,
        name: str,
        namespace: str,
        metric: str,
        dimensions: list[Members],
        what: str,
        threshold: int = 1,
        statistic: str = "Sum",
    ) -> None:
        self._resources[f"{name}Alarm"] = {
            "Type": "AWS::CloudWatch::Alarm",
            "Properties": {
                "AlarmDescription": f"{self._stack.service}: {what}",
                "Namespace": namespace,
                "MetricName": metric,
                "Dimensions": dimensions,
                "Statistic": statistic,
                "Period": 60,
                "EvaluationPeriods": 5,
                "DatapointsToAlarm": 1 if threshold == 1 else 5,
                "Threshold": threshold,
                "ComparisonOperator": "GreaterThanOrEqualToThreshold",
                "TreatMissingData": "notBreaching",
                "AlarmActions": [{"Fn::If": ["HasAlarmTopic", {"Ref": "AlarmTopic"}, {"Ref": "AWS::NoValue"}]}],
            },
        }


_PARAMETERS: Final = {
    "CodeBucket": {"Type": "String", "Description": "The bucket with the package"},
    "CodeKey": {"Type": "String", "Description": "The key of the package, a zip file"},
    "CursorSecret": {
        "Type": "String",
        "NoEcho": True,
        "MinLength": 32,
        "Description": "Signs the cursors of pages; all functions must have the same, for as long as cursors are valid",
    },
    "AlarmTopic": {"Type": "String", "Default": "", "Description": "The ARN of an SNS topic for alarms, if any"},
    "MemoryMegabytes": {"Type": "Number", "Default": 1024, "MinValue": 256, "MaxValue": 10240},
    "Architecture": {"Type": "String", "Default": "x86_64", "AllowedValues": ["x86_64", "arm64"]},
    "LogDays": {"Type": "Number", "Default": 30, "AllowedValues": [1, 7, 14, 30, 90, 180, 365]},
}


def _arn(name: str) -> Members:
    return {"Fn::GetAtt": [name, "Arn"]}


def _allow(actions: Sequence[str], resources: Sequence[Any]) -> Members:
    return {"Effect": "Allow", "Action": list(actions), "Resource": list(resources)}


def _sends_to_queue() -> Members:
    return _allow(["sqs:SendMessage"], [_arn("DeadLetters")])


def _policy(statements: Sequence[Members]) -> Members:
    return {"Version": "2012-10-17", "Statement": list(statements)}


def _role(principal: str, statements: Sequence[Members]) -> Members:
    trust = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": principal}}
    return {
        "Type": "AWS::IAM::Role",
        "Properties": {
            "AssumeRolePolicyDocument": _policy([trust]),
            "Policies": [{"PolicyName": "Rights", "PolicyDocument": _policy(statements)}],
        },
    }


def _of_function(name: str) -> list[Members]:
    return [{"Name": "FunctionName", "Value": {"Ref": name}}]

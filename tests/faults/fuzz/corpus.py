"""A valid request of every operation, and the tables that make them valid."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from tests.faults.fuzz.json_text import Json

Call = Callable[[str, dict[str, Any]], dict[str, Any]]
Requests = list[tuple[str, dict[str, Any]]]

KINESIS: Final = "arn:aws:kinesis:local:000000000000:stream/changes"
KEY: Final = {"pk": {"S": "customer 1"}, "sk": {"S": "order 1"}}
ITEM: Final = {
    **KEY,
    "sum": {"N": "12.50"},
    "city": {"S": "Berlin"},
    "expires": {"N": "9999999999"},
    "tags": {"SS": ["a", "b"]},
    "basket": {"L": [{"M": {"n": {"N": "1"}, "name": {"S": "tea"}}}]},
    "photo": {"B": "AAEC"},
    "open": {"BOOL": True},
    "note": {"NULL": True},
    "taste": {"L": [{"N": "0.5"}, {"N": "-1"}]},
}
ALL: Final = {"ProjectionType": "ALL"}


def _schema(*names: str) -> list[Json]:
    return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(names, ("HASH", "RANGE"), strict=False)]


def _attributes(**types: str) -> list[Json]:
    return [{"AttributeName": name, "AttributeType": kind} for name, kind in types.items()]


ORDERS: Final[dict[str, Any]] = {
    "TableName": "orders",
    "AttributeDefinitions": _attributes(pk="S", sk="S", sum="N", city="S"),
    "KeySchema": _schema("pk", "sk"),
    "LocalSecondaryIndexes": [{"IndexName": "by_sum", "KeySchema": _schema("pk", "sum"), "Projection": ALL}],
    "GlobalSecondaryIndexes": [{"IndexName": "by_city", "KeySchema": _schema("city", "sum"), "Projection": ALL}],
    "BillingMode": "PAY_PER_REQUEST",
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    "Tags": [{"Key": "team", "Value": "red"}],
    "VectorIndexes": [
        {
            "IndexName": "by_taste",
            "VectorAttribute": {"AttributeName": "taste"},
            "SearchSchema": [
                {"AttributeName": "city", "SearchSchemaElementType": "HASH"},
                {"AttributeName": "sum", "SearchSchemaElementType": "INLINE_FILTER"},
            ],
            "Projection": ALL,
            "Dimensions": 2,
            "DistanceFunction": "COSINE",
        },
    ],
}
ORDERS_ARN: Final = "arn:aws:dynamodb:local:000000000000:table/orders"
TABLES: Final = (
    ORDERS,
    {
        "TableName": "plain",
        "AttributeDefinitions": _attributes(pk="S"),
        "KeySchema": _schema("pk"),
        "BillingMode": "PAY_PER_REQUEST",
    },
    {
        "TableName": "numbers",
        "AttributeDefinitions": _attributes(id="N", raw="B"),
        "KeySchema": _schema("id", "raw"),
        "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
    },
)


def lay_out(call: Call, kept: set[str]) -> None:
    """Remove all tables but those of the services, create the three, and put some items."""
    for name in call("ListTables", {})["TableNames"]:
        if name not in kept:
            if call("DescribeTable", {"TableName": name})["Table"]["DeletionProtectionEnabled"]:
                call("UpdateTable", {"TableName": name, "DeletionProtectionEnabled": False})
            call("DeleteTable", {"TableName": name})
    for backup in call("ListBackups", {})["BackupSummaries"]:
        if backup["BackupStatus"] == "AVAILABLE":
            call("DeleteBackup", {"BackupArn": backup["BackupArn"]})
    for table in TABLES:
        call("CreateTable", table)
    call("UpdateContinuousBackups", _recovery("orders", True))
    call("UpdateTimeToLive", _ttl(True))
    call("PutResourcePolicy", {"ResourceArn": ORDERS_ARN, "Policy": _policy(ORDERS_ARN)})
    for number in range(5):
        call("PutItem", {"TableName": "orders", "Item": ITEM | {"sk": {"S": f"order {number}"}}})
    call("PutItem", {"TableName": "plain", "Item": {"pk": {"S": "a"}, "n": {"N": "1"}}})
    call("PutItem", {"TableName": "numbers", "Item": {"id": {"N": "1"}, "raw": {"B": "AAEC"}}})


def _policy(arn: str) -> str:
    statement = {
        "Sid": "reading",
        "Effect": "Allow",
        "Principal": {"AWS": ["arn:aws:iam::000000000000:user/reader", "*"]},
        "Action": ["dynamodb:Get*", "dynamodb:Query"],
        "Resource": [arn, f"{arn}/index/*"],
        "Condition": {"DateLessThan": {"aws:CurrentTime": "2999-01-01T00:00:00Z"}},
    }
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def _recovery(table: str, enabled: bool) -> dict[str, Any]:
    wanted = {"PointInTimeRecoveryEnabled": enabled}
    return {"TableName": table, "PointInTimeRecoverySpecification": wanted}


def _ttl(enabled: bool) -> dict[str, Any]:
    return {"TableName": "orders", "TimeToLiveSpecification": {"Enabled": enabled, "AttributeName": "expires"}}


def requests(call: Call) -> Requests:
    """Every operation at least once, in the state that `lay_out` leaves."""
    arn = call("DescribeTable", {"TableName": "orders"})["Table"]["TableArn"]
    return [
        *_tables(arn),
        *_items(),
        *_reads(),
        *_batches(),
        *_transactions(),
        *_statements(call),
        *_streams(call),
        *_backups(call),
        *_transfers(arn),
        *_features(arn),
    ]


def _tables(arn: str) -> Requests:
    index = {"IndexName": "by_sk", "KeySchema": _schema("sk"), "Projection": {"ProjectionType": "KEYS_ONLY"}}
    return [
        ("CreateTable", ORDERS | {"TableName": "another"}),
        ("DescribeTable", {"TableName": "orders"}),
        ("ListTables", {"Limit": 10, "ExclusiveStartTableName": "numbers"}),
        ("UpdateTable", {"TableName": "numbers", "BillingMode": "PAY_PER_REQUEST"}),
        (
            "UpdateTable",
            {
                "TableName": "orders",
                "AttributeDefinitions": _attributes(sk="S"),
                "GlobalSecondaryIndexUpdates": [{"Create": index}],
            },
        ),
        ("UpdateTimeToLive", _ttl(False)),
        ("DescribeTimeToLive", {"TableName": "orders"}),
        ("TagResource", {"ResourceArn": arn, "Tags": [{"Key": "stage", "Value": "test"}]}),
        ("UntagResource", {"ResourceArn": arn, "TagKeys": ["stage"]}),
        ("ListTagsOfResource", {"ResourceArn": arn}),
        ("DeleteTable", {"TableName": "plain"}),
    ]


def _items() -> Requests:
    values = {":v": {"N": "1"}, ":w": {"S": "tea"}}
    condition = {
        "ConditionExpression": "attribute_exists(pk) AND (size(tags) > :v OR city IN (:w)) AND NOT contains(#n, :w)",
        "ExpressionAttributeNames": {"#n": "note"},
        "ExpressionAttributeValues": values,
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    update = "SET basket[0].#n = if_not_exists(x, :v) + :v, l = list_append(basket, basket) REMOVE photo ADD s :v"
    expected = {
        "city": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "Berlin"}]},
        "note": {"ComparisonOperator": "NOT_NULL"},
    }
    return [
        ("PutItem", {"TableName": "orders", "Item": ITEM, "ReturnValues": "ALL_OLD"}),
        ("PutItem", {"TableName": "plain", "Item": {"pk": {"S": "a"}, "n": {"N": "1"}}}),
        ("PutItem", {"TableName": "orders", "Item": ITEM, "Expected": expected, "ConditionalOperator": "AND"}),
        ("PutItem", {"TableName": "orders", "Item": ITEM, "ReturnConsumedCapacity": "INDEXES", **condition}),
        ("GetItem", {"TableName": "orders", "Key": KEY, "ConsistentRead": True}),
        ("GetItem", {"TableName": "numbers", "Key": {"id": {"N": "1"}, "raw": {"B": "AAEC"}}}),
        (
            "GetItem",
            {
                "TableName": "orders",
                "Key": KEY,
                "ProjectionExpression": "basket[0].#n, city",
                "ExpressionAttributeNames": {"#n": "name"},
            },
        ),
        (
            "UpdateItem",
            {"TableName": "orders", "Key": KEY, "UpdateExpression": update, "ReturnValues": "UPDATED_NEW", **condition},
        ),
        (
            "UpdateItem",
            {
                "TableName": "plain",
                "Key": {"pk": {"S": "a"}},
                "UpdateExpression": "SET n = n + :v",
                "ExpressionAttributeValues": {":v": {"N": "1"}},
            },
        ),
        (
            "UpdateItem",
            {
                "TableName": "orders",
                "Key": KEY,
                "AttributeUpdates": {"sum": {"Action": "ADD", "Value": {"N": "1"}}},
                "Expected": expected,
            },
        ),
        ("DeleteItem", {"TableName": "orders", "Key": KEY, "ReturnValues": "ALL_OLD", **condition}),
    ]


def _reads() -> Requests:
    by_key = {
        "KeyConditionExpression": "pk = :p AND begins_with(sk, :s)",
        "ExpressionAttributeValues": {":p": {"S": "customer 1"}, ":s": {"S": "order"}},
    }
    by_city = {
        "IndexName": "by_city",
        "KeyConditionExpression": "city = :c AND #s BETWEEN :a AND :b",
        "FilterExpression": "size(tags) >= :a AND attribute_type(photo, :t)",
        "ExpressionAttributeNames": {"#s": "sum"},
        "ExpressionAttributeValues": {":c": {"S": "Berlin"}, ":a": {"N": "1"}, ":b": {"N": "99"}, ":t": {"S": "B"}},
    }
    start = KEY | {"city": {"S": "Berlin"}, "sum": {"N": "12.5"}}
    legacy = {"pk": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "customer 1"}]}}
    return [
        (
            "SearchVectors",
            {
                "TableName": "orders",
                "IndexName": "by_taste",
                "SearchVector": [{"N": "1"}, {"N": "-0.25"}],
                "TopK": 3,
                "SearchConditionExpression": "city = :c AND #s = :s",
                "ProjectionExpression": "pk, taste[0]",
                "ExpressionAttributeNames": {"#s": "sum"},
                "ExpressionAttributeValues": {":c": {"S": "Berlin"}, ":s": {"N": "12.5"}},
                "ReturnConsumedCapacity": "TOTAL",
            },
        ),
        ("Query", {"TableName": "orders", "Limit": 2, "ScanIndexForward": False, **by_key}),
        ("Query", {"TableName": "orders", "ExclusiveStartKey": start, "Select": "COUNT", **by_city}),
        (
            "Query",
            {"TableName": "orders", "KeyConditions": legacy, "QueryFilter": {"city": {"ComparisonOperator": "NULL"}}},
        ),
        (
            "Scan",
            {
                "TableName": "orders",
                "Limit": 3,
                "FilterExpression": "attribute_exists(city)",
                "Segment": 0,
                "TotalSegments": 2,
            },
        ),
        ("Scan", {"TableName": "orders", "IndexName": "by_sum", "ProjectionExpression": "pk, basket[0]"}),
    ]


def _batches() -> Requests:
    put = {"PutRequest": {"Item": ITEM}}
    delete = {"DeleteRequest": {"Key": {"pk": {"S": "b"}}}}
    return [
        ("BatchGetItem", {"RequestItems": {"orders": {"Keys": [KEY]}, "plain": {"Keys": [{"pk": {"S": "a"}}]}}}),
        (
            "BatchWriteItem",
            {"RequestItems": {"orders": [put], "plain": [delete]}, "ReturnItemCollectionMetrics": "SIZE"},
        ),
    ]


def _transactions() -> Requests:
    put = {"Put": {"TableName": "orders", "Item": ITEM}}
    check = {
        "ConditionCheck": {
            "TableName": "plain",
            "Key": {"pk": {"S": "a"}},
            "ConditionExpression": "n > :v",
            "ExpressionAttributeValues": {":v": {"N": "0"}},
        }
    }
    delete = {"Delete": {"TableName": "numbers", "Key": {"id": {"N": "2"}, "raw": {"B": "AAEC"}}}}
    update = {
        "Update": {
            "TableName": "plain",
            "Key": {"pk": {"S": "c"}},
            "UpdateExpression": "SET n = :v",
            "ExpressionAttributeValues": {":v": {"N": "0"}},
        }
    }
    return [
        (
            "TransactGetItems",
            {"TransactItems": [{"Get": {"TableName": "orders", "Key": KEY, "ProjectionExpression": "city"}}]},
        ),
        ("TransactWriteItems", {"TransactItems": [put, check, delete, update], "ClientRequestToken": "token 1"}),
    ]


def _statements(call: Call) -> Requests:
    select = (
        "SELECT sk, basket[0].n, \"city\" FROM orders WHERE pk = ? AND sk BETWEEN 'order 0' AND ? AND NOT "
        "(size(tags) > 9 OR begins_with(city, 'x')) AND photo IS NOT MISSING AND note IS NULL ORDER BY sk DESC"
    )
    page = {"Statement": select, "Parameters": [KEY["pk"], {"S": "order 9"}], "Limit": 2}
    by_city = 'SELECT * FROM "orders"."by_city" WHERE city IN [\'Berlin\', ?] AND "sum" >= -1.5e1'
    insert = "INSERT INTO orders VALUE {'pk': 'p', 'sk': ?, 'l': [1, {'a': NULL}], 's': <<'a', ?>>, 't': true}"
    update = (
        "UPDATE orders SET city = ?, tags = set_add(tags, <<'c'>>), basket = list_append(basket, [?]) REMOVE photo "
        "WHERE pk = 'customer 1' AND sk = 'order 1' AND attribute_type(city, 'S') RETURNING MODIFIED NEW *"
    )
    parameters = [{"S": "Rome"}, {"N": "1"}]
    old = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    delete = "DELETE FROM plain WHERE pk = 'a' AND n < ? RETURNING ALL OLD *"
    exists = "EXISTS(SELECT * FROM plain WHERE pk = 'a' AND n = 1)"
    token = call("ExecuteStatement", page)["NextToken"]
    return [
        ("ExecuteStatement", page | {"NextToken": token, "ConsistentRead": True, "ReturnConsumedCapacity": "INDEXES"}),
        ("ExecuteStatement", {"Statement": by_city, "Parameters": [{"S": "Rome"}]}),
        ("ExecuteStatement", {"Statement": "SELECT * FROM plain WHERE contains(pk, 'a') AND n = 1"}),
        ("ExecuteStatement", {"Statement": insert, "Parameters": [{"S": "x"}, {"S": "b"}], **old}),
        ("ExecuteStatement", {"Statement": update, "Parameters": parameters, **old}),
        ("ExecuteStatement", {"Statement": delete, "Parameters": [{"N": "9"}]}),
        (
            "BatchExecuteStatement",
            {
                "Statements": [
                    {
                        "Statement": "SELECT n FROM plain WHERE pk = ?",
                        "Parameters": [{"S": "a"}],
                        "ConsistentRead": True,
                    },
                    {"Statement": "SELECT * FROM orders WHERE pk = 'customer 1' AND sk = 'order 2'"},
                ]
            },
        ),
        (
            "BatchExecuteStatement",
            {
                "Statements": [{"Statement": update, "Parameters": parameters, **old}, {"Statement": insert}],
                "ReturnConsumedCapacity": "TOTAL",
            },
        ),
        ("ExecuteTransaction", {"TransactStatements": [{"Statement": "SELECT n FROM plain WHERE pk = 'a'"}]}),
        (
            "ExecuteTransaction",
            {
                "TransactStatements": [
                    {"Statement": insert, "Parameters": [{"S": "x"}, {"S": "b"}]},
                    {"Statement": exists, **old},
                ],
                "ClientRequestToken": "statements 1",
            },
        ),
    ]


def _streams(call: Call) -> Requests:
    arn = call("DescribeTable", {"TableName": "orders"})["Table"]["LatestStreamArn"]
    shard = call("DescribeStream", {"StreamArn": arn})["StreamDescription"]["Shards"][0]
    at = {"StreamArn": arn, "ShardId": shard["ShardId"]}
    iterator = call("GetShardIterator", {**at, "ShardIteratorType": "TRIM_HORIZON"})["ShardIterator"]
    first = shard["SequenceNumberRange"]["StartingSequenceNumber"]
    return [
        ("ListStreams", {"TableName": "orders", "Limit": 5}),
        ("DescribeStream", {"StreamArn": arn, "Limit": 1}),
        ("GetShardIterator", {**at, "ShardIteratorType": "AT_SEQUENCE_NUMBER", "SequenceNumber": first}),
        ("GetRecords", {"ShardIterator": iterator, "Limit": 2}),
    ]


def _backups(call: Call) -> Requests:
    made = call("ListBackups", {"TableName": "plain"})["BackupSummaries"]
    if not made:
        made = [call("CreateBackup", {"TableName": "plain", "BackupName": "before"})["BackupDetails"]]
    backup = made[0]["BackupArn"]
    time = call("DescribeContinuousBackups", {"TableName": "orders"})["ContinuousBackupsDescription"]
    latest = time["PointInTimeRecoveryDescription"]["LatestRestorableDateTime"]
    index = {"IndexName": "by_city", "KeySchema": _schema("city", "sum"), "Projection": ALL}
    return [
        ("CreateBackup", {"TableName": "orders", "BackupName": "daily"}),
        ("DescribeBackup", {"BackupArn": backup}),
        ("ListBackups", {"TableName": "orders", "Limit": 5, "TimeRangeLowerBound": 1.5}),
        ("RestoreTableFromBackup", {"TargetTableName": "restored", "BackupArn": backup}),
        ("DeleteBackup", {"BackupArn": backup}),
        ("UpdateContinuousBackups", _recovery("plain", True)),
        ("DescribeContinuousBackups", {"TableName": "orders"}),
        (
            "RestoreTableToPointInTime",
            {
                "SourceTableName": "orders",
                "TargetTableName": "restored",
                "RestoreDateTime": latest,
                "GlobalSecondaryIndexOverride": [index],
                "LocalSecondaryIndexOverride": [],
            },
        ),
        ("UpdateContinuousBackups", _recovery("orders", False)),
    ]


def _transfers(arn: str) -> Requests:
    bucket = {"S3Bucket": "exports", "S3Prefix": "daily/orders"}
    return [
        ("ExportTableToPointInTime", {"TableArn": arn, "ExportFormat": "DYNAMODB_JSON", **bucket}),
        (
            "ExportTableToPointInTime",
            {
                "TableArn": arn,
                "FilterSpecification": {
                    "KeyConditionExpression": "pk = :pk",
                    "FilterExpression": "n > :n",
                    "ProjectionExpression": "pk, #a",
                    "ExpressionAttributeNames": {"#a": "a"},
                    "ExpressionAttributeValues": {":pk": {"S": "a"}, ":n": {"N": "1"}},
                },
                **bucket,
            },
        ),
        ("DescribeExport", {"ExportArn": f"{arn}/export/01489602797149-73d8d5bc"}),
        ("ListExports", {"TableArn": arn, "MaxResults": 5}),
        (
            "ImportTable",
            {
                "S3BucketSource": {"S3Bucket": "imports", "S3KeyPrefix": "daily/"},
                "InputFormat": "CSV",
                "InputFormatOptions": {"Csv": {"Delimiter": ";", "HeaderList": ["pk", "name"]}},
                "InputCompressionType": "GZIP",
                "TableCreationParameters": {
                    "TableName": "imported",
                    "AttributeDefinitions": _attributes(pk="S"),
                    "KeySchema": _schema("pk"),
                    "BillingMode": "PAY_PER_REQUEST",
                },
            },
        ),
        ("DescribeImport", {"ImportArn": f"{arn}/import/01489602797149-73d8d5bc"}),
        ("ListImports", {"TableArn": arn, "PageSize": 5}),
    ]


def _features(arn: str) -> Requests:
    return [
        ("DescribeLimits", {}),
        ("DescribeEndpoints", {}),
        ("UpdateContributorInsights", {"TableName": "orders", "ContributorInsightsAction": "ENABLE"}),
        ("DescribeContributorInsights", {"TableName": "orders", "IndexName": "by_city"}),
        ("EnableKinesisStreamingDestination", {"TableName": "orders", "StreamArn": KINESIS}),
        ("DisableKinesisStreamingDestination", {"TableName": "orders", "StreamArn": KINESIS}),
        (
            "UpdateKinesisStreamingDestination",
            {
                "TableName": "orders",
                "StreamArn": KINESIS,
                "UpdateKinesisStreamingConfiguration": {"ApproximateCreationDateTimePrecision": "MICROSECOND"},
            },
        ),
        ("DescribeKinesisStreamingDestination", {"TableName": "orders"}),
        ("DescribeTableReplicaAutoScaling", {"TableName": "orders"}),
        ("UpdateTableReplicaAutoScaling", {"TableName": "orders", "ReplicaUpdates": [{"RegionName": "local"}]}),
        ("CreateGlobalTable", {"GlobalTableName": "plain", "ReplicationGroup": [{"RegionName": "local"}]}),
        ("UpdateGlobalTable", {"GlobalTableName": "orders", "ReplicaUpdates": [{"Delete": {"RegionName": "local"}}]}),
        ("UpdateGlobalTableSettings", {"GlobalTableName": "orders", "GlobalTableBillingMode": "PROVISIONED"}),
        ("DescribeGlobalTable", {"GlobalTableName": "orders"}),
        ("DescribeGlobalTableSettings", {"GlobalTableName": "orders"}),
        ("PutResourcePolicy", {"ResourceArn": arn, "Policy": _policy(arn), "ConfirmRemoveSelfResourceAccess": True}),
        ("GetResourcePolicy", {"ResourceArn": arn}),
        ("DeleteResourcePolicy", {"ResourceArn": arn}),
        ("ListContributorInsights", {"TableName": "orders", "MaxResults": 5}),
        ("ListGlobalTables", {"Limit": 5, "RegionName": "eu-west-1"}),
    ]

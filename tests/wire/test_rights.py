from __future__ import annotations

from typing import Any

import pytest

from sortkey.engine import requests
from sortkey.errors import AccessDeniedException
from sortkey.wire.authentication import ADMIN, ADMIN_OPERATIONS, READ, WRITE, KeyHolder, Rights, needs

KEY = {"pk": {"S": "a"}}
STREAM = "arn:aws:dynamodb:local:000000000000:table/orders/stream/2026-08-24T00:00:00.000"


def needed(operation: str, **members: Any) -> list[tuple[str, str]]:
    return [(need.table, need.right) for need in needs(operation, requests.convert(operation, members))]


def holder(tables: dict[str, str], key_id: str = "K") -> KeyHolder:
    return KeyHolder(key_id, Rights(tables), {}, now=0.0)


@pytest.mark.parametrize(
    ("operation", "members", "right"),
    [
        ("GetItem", {"TableName": "orders", "Key": KEY}, READ),
        ("Query", {"TableName": "orders"}, READ),
        ("DescribeTable", {"TableName": "orders"}, READ),
        ("PutItem", {"TableName": "orders", "Item": KEY}, WRITE),
        ("UpdateItem", {"TableName": "orders", "Key": KEY}, WRITE),
        ("DeleteTable", {"TableName": "orders"}, ADMIN),
        (
            "UpdateTimeToLive",
            {"TableName": "orders", "TimeToLiveSpecification": {"Enabled": True, "AttributeName": "t"}},
            ADMIN,
        ),
        ("BatchGetItem", {"RequestItems": {"orders": {"Keys": [KEY]}}}, READ),
        ("BatchWriteItem", {"RequestItems": {"orders": [{"PutRequest": {"Item": KEY}}]}}, WRITE),
        ("TagResource", {"ResourceArn": STREAM.partition("/stream")[0], "Tags": []}, ADMIN),
        ("DescribeStream", {"StreamArn": STREAM}, READ),
        ("GetRecords", {"ShardIterator": f"{STREAM}|1|AAAA"}, READ),
        ("GetItem", {"TableName": "arn:aws:dynamodb:local:000000000000:table/orders", "Key": KEY}, READ),
    ],
)
def test_what_operations_need(operation: str, members: dict[str, Any], right: str) -> None:
    assert needed(operation, **members) == [("orders", right)]


# A new writing operation must not be open to readers by accident.
def test_every_operation_that_changes_a_table_is_the_administrators() -> None:
    words = ("Create", "Delete", "Update", "Tag", "Untag", "PutR", "Restore", "Export", "Import", "Enable", "Disable")
    changing = {name for name in requests.OPERATIONS if name.startswith(words)} - {"DeleteItem", "UpdateItem"}
    assert changing == ADMIN_OPERATIONS


READ_N = "SELECT n FROM orders WHERE pk = 'a'"
WRITE_N = "UPDATE orders SET n = 1 WHERE pk = 'a'"


# A statement needs what the operation that it becomes needs; AWS has a name of its own for each kind.
@pytest.mark.parametrize(
    ("statement", "rights", "action"),
    [
        (READ_N, [READ], "PartiQLSelect"),
        ('select * from "orders" where n > 1', [READ], "PartiQLSelect"),
        ("EXISTS(SELECT * FROM orders WHERE pk = 'a' AND n = 1)", [READ], "PartiQLSelect"),
        ("INSERT INTO orders VALUE {'pk': 'a'}", [WRITE], "PartiQLInsert"),
        (WRITE_N, [WRITE], "PartiQLUpdate"),
        (f"{WRITE_N} RETURNING ALL OLD *", [WRITE, READ], "PartiQLUpdate"),
        ("DELETE FROM orders WHERE pk = 'a'", [WRITE], "PartiQLDelete"),
        ("DELETE FROM orders WHERE pk = 'a' RETURNING ALL OLD *", [WRITE, READ], "PartiQLDelete"),
        ("SELECT n FROM", [], ""),
    ],
)
def test_what_statements_need(statement: str, rights: list[str], action: str) -> None:
    found = [*needs("ExecuteStatement", requests.convert("ExecuteStatement", {"Statement": statement}))]
    assert [(need.table, need.right) for need in found] == [("orders", right) for right in rights]
    assert {need.action for need in found} <= {f"dynamodb:{action}"}


def test_an_index_in_a_statement_is_named_below_its_table() -> None:
    request = requests.convert("ExecuteStatement", {"Statement": 'SELECT * FROM "orders"."by_city"'})
    assert [need.below for need in needs("ExecuteStatement", request)] == ["/index/by_city"]


def test_all_statements_of_a_request_count() -> None:
    statements = [
        {"Statement": WRITE_N, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"},
        {"Statement": "DELETE FROM prices WHERE pk = 'a'"},
    ]
    expected = [("orders", WRITE), ("orders", READ), ("prices", WRITE)]
    assert needed("ExecuteTransaction", TransactStatements=statements) == expected
    assert needed("BatchExecuteStatement", Statements=statements) == expected


def test_a_reader_does_not_write_by_a_statement() -> None:
    reader = holder({"*": "read"})
    reader.check("ExecuteStatement", requests.convert("ExecuteStatement", {"Statement": READ_N}))
    with pytest.raises(AccessDeniedException, match="dynamodb:PartiQLUpdate"):
        reader.check("ExecuteStatement", requests.convert("ExecuteStatement", {"Statement": WRITE_N}))


def test_transactions_need_what_their_actions_need() -> None:
    actions = [
        {"Put": {"TableName": "orders", "Item": KEY}},
        {"ConditionCheck": {"TableName": "prices", "Key": KEY, "ConditionExpression": "attribute_exists(pk)"}},
    ]
    assert needed("TransactWriteItems", TransactItems=actions) == [("orders", WRITE), ("prices", READ)]
    gets = [{"Get": {"TableName": name, "Key": KEY}} for name in ("orders", "prices")]
    assert needed("TransactGetItems", TransactItems=gets) == [("orders", READ), ("prices", READ)]


# Otherwise a key that may only write reads items by writing to them.
@pytest.mark.parametrize(
    ("operation", "members"),
    [
        ("PutItem", {"Item": KEY, "ReturnValues": "ALL_OLD"}),
        ("DeleteItem", {"Key": KEY, "ReturnValues": "ALL_OLD"}),
        ("UpdateItem", {"Key": KEY, "ReturnValues": "ALL_NEW"}),
        ("UpdateItem", {"Key": KEY, "ReturnValues": "UPDATED_OLD"}),
        ("UpdateItem", {"Key": KEY, "ReturnValues": "UPDATED_NEW"}),
        ("PutItem", {"Item": KEY, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}),
    ],
)
def test_a_write_that_returns_attributes_needs_both(operation: str, members: dict[str, Any]) -> None:
    assert needed(operation, TableName="orders", **members) == [("orders", WRITE), ("orders", READ)]
    with pytest.raises(AccessDeniedException):
        holder({"*": "write"}).check(operation, requests.convert(operation, {"TableName": "orders", **members}))


def test_a_write_that_returns_nothing_needs_no_more() -> None:
    returned = {"ReturnValues": "NONE", "ReturnValuesOnConditionCheckFailure": "NONE"}
    assert needed("PutItem", TableName="orders", Item=KEY, **returned) == [("orders", WRITE)]


def test_so_does_an_action_of_a_transaction() -> None:
    old = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    actions = [
        {"Delete": {"TableName": "orders", "Key": KEY, **old}},
        {"ConditionCheck": {"TableName": "prices", "Key": KEY, "ConditionExpression": "attribute_exists(pk)", **old}},
    ]
    assert needed("TransactWriteItems", TransactItems=actions) == [
        ("orders", WRITE),
        ("orders", READ),
        ("prices", READ),
    ]


BACKUP = "arn:aws:dynamodb:local:000000000000:table/orders/backup/01489602797149-73d8d5bc"


# A key that may not read the orders must not get at them by restoring them.
@pytest.mark.parametrize(
    ("operation", "source"),
    [
        ("RestoreTableFromBackup", {"BackupArn": BACKUP}),
        ("RestoreTableToPointInTime", {"SourceTableName": "orders"}),
        ("RestoreTableToPointInTime", {"SourceTableArn": "arn:aws:dynamodb:local:000000000000:table/orders"}),
    ],
)
def test_a_restore_reads_one_table_and_makes_another(operation: str, source: dict[str, str]) -> None:
    assert needed(operation, TargetTableName="mine", **source) == [("mine", ADMIN), ("orders", READ)]


def test_a_backup_is_its_tables() -> None:
    assert needed("DescribeBackup", BackupArn=BACKUP) == [("orders", READ)]
    assert needed("DeleteBackup", BackupArn=BACKUP) == [("orders", ADMIN)]


def test_operations_about_no_table_are_open() -> None:
    assert needed("ListTables") == needed("DescribeLimits") == []


# The engine would find `secret` in it; so must the rights, or nothing.
@pytest.mark.parametrize(
    "arn", ["arn:table/mine:dynamodb:r:a:table/secret", "arn:aws:dynamodb:r:a:table/mine:x:table/secret", "arn:junk"]
)
def test_a_name_that_could_be_read_in_two_ways_opens_nothing(arn: str) -> None:
    mine = holder({"mine*": "admin"})
    with pytest.raises(AccessDeniedException):
        mine.check("ListTagsOfResource", requests.convert("ListTagsOfResource", {"ResourceArn": arn}))


def test_patterns() -> None:
    rights = holder({"orders*": "readwrite", "prices": "read", "tmp-?": "admin"})

    def may(operation: str, **members: Any) -> bool:
        try:
            rights.check(operation, requests.convert(operation, members))
        except AccessDeniedException:
            return False
        return True

    assert may("GetItem", TableName="orders-2026", Key=KEY)
    assert may("PutItem", TableName="orders", Item=KEY)
    assert not may("DeleteTable", TableName="orders")
    assert may("GetItem", TableName="prices", Key=KEY)
    assert not may("PutItem", TableName="prices", Item=KEY)
    assert may("DeleteTable", TableName="tmp-1")
    assert not may("GetItem", TableName="tmp-12", Key=KEY)
    assert not may("BatchGetItem", RequestItems={"prices": {"Keys": [KEY]}, "others": {"Keys": [KEY]}})


def test_errors_read_as_at_aws() -> None:
    with pytest.raises(AccessDeniedException) as caught:
        holder({}, "AKID").check("GetItem", requests.convert("GetItem", {"TableName": "orders", "Key": KEY}))
    assert caught.value.message == (
        "User: arn:aws:iam::000000000000:user/AKID is not authorized to perform: dynamodb:GetItem on resource: "
        "arn:aws:dynamodb:local:000000000000:table/orders because no identity-based policy allows the "
        "dynamodb:GetItem action"
    )

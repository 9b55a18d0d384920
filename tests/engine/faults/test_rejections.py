"""Throttled requests and transaction conflicts, as AWS answers them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from botocore.exceptions import ClientError

import sortkey as sk
from sortkey.client import Client
from tests.engine.faults.conftest import OpenFaulty
from tests.engine.faults.orders import ORDERS, code_of, error_of, key, numbers, put

PROVISIONED = {
    **ORDERS,
    "BillingMode": "PROVISIONED",
    "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
}
TRANSACTION = {"TransactItems": [{"Put": {"TableName": "orders", "Item": key(number)}} for number in range(3)]}

STATEMENTS = [{"Statement": f"INSERT INTO orders VALUE {{'number': {number}}}"} for number in range(3)]
ITEM_REQUESTS: dict[str, Callable[[Client], Any]] = {
    "GetItem": lambda client: client.get_item(TableName="orders", Key=key(1)),
    "PutItem": lambda client: client.put_item(TableName="orders", Item=key(1)),
    "UpdateItem": lambda client: client.update_item(TableName="orders", Key=key(1)),
    "DeleteItem": lambda client: client.delete_item(TableName="orders", Key=key(1)),
    "Query": lambda client: client.query(
        TableName="orders",
        KeyConditionExpression="#n = :n",
        ExpressionAttributeNames={"#n": "number"},
        ExpressionAttributeValues={":n": {"N": "1"}},
    ),
    "Scan": lambda client: client.scan(TableName="orders"),
    "BatchGetItem": lambda client: client.batch_get_item(RequestItems={"orders": {"Keys": [key(1)]}}),
    "BatchWriteItem": lambda client: client.batch_write_item(
        RequestItems={"orders": [{"PutRequest": {"Item": key(1)}}]}
    ),
    "ExecuteStatement": lambda client: client.execute_statement(Statement="SELECT * FROM orders"),
    "BatchExecuteStatement": lambda client: client.batch_execute_statement(Statements=STATEMENTS),
}


def test_every_request_for_items_can_be_throttled(open_faulty: OpenFaulty) -> None:
    client = open_faulty("throttle=1")
    client.create_table(**ORDERS)
    codes = {name: code_of(partial(request, client)) for name, request in ITEM_REQUESTS.items()}
    assert codes == dict.fromkeys(ITEM_REQUESTS, "ThrottlingException")


def test_a_provisioned_table_has_the_error_of_its_billing_mode(open_faulty: OpenFaulty) -> None:
    client = open_faulty("throttle=1")
    client.create_table(**PROVISIONED)
    assert code_of(lambda: put(client, 1)) == "ProvisionedThroughputExceededException"


@pytest.mark.parametrize(
    ("table", "code"), [(ORDERS, "ThrottlingError"), (PROVISIONED, "ProvisionedThroughputExceeded")]
)
def test_a_throttled_transaction_is_cancelled_by_one_action(
    open_faulty: OpenFaulty, table: dict[str, Any], code: str
) -> None:
    client = open_faulty("throttle=1")
    client.create_table(**table)
    for call in (
        lambda: client.transact_write_items(**TRANSACTION),
        lambda: client.execute_transaction(TransactStatements=STATEMENTS),
    ):
        error = error_of(call)
        assert error is not None
        assert error["Error"]["Code"] == "TransactionCanceledException"
        codes = [reason["Code"] for reason in error["CancellationReasons"]]
        assert sorted(codes) == sorted(["None", "None", code])
        assert error["Error"]["Message"].endswith(f"[{', '.join(codes)}]")


def test_a_missing_table_is_reported_not_throttled(open_faulty: OpenFaulty) -> None:
    client = open_faulty("throttle=1,transaction_conflicts=1")
    assert code_of(lambda: put(client, 1)) == "ResourceNotFoundException"


def test_conflicts_of_single_writes_and_of_transactions(open_faulty: OpenFaulty) -> None:
    client = open_faulty("transaction_conflicts=1")
    client.create_table(**ORDERS)
    assert code_of(lambda: put(client, 1)) == "TransactionConflictException"
    assert code_of(lambda: client.execute_statement(**STATEMENTS[0])) == "TransactionConflictException"
    gets = [{"Get": {"TableName": "orders", "Key": key(number)}} for number in range(3)]
    for call in (
        lambda: client.transact_write_items(**TRANSACTION),
        lambda: client.transact_get_items(TransactItems=gets),
        lambda: client.execute_transaction(TransactStatements=STATEMENTS),
    ):
        error = error_of(call)
        assert error is not None
        reasons = sorted((reason["Code"], reason.get("Message")) for reason in error["CancellationReasons"][:3])
        assert reasons[-1] == ("TransactionConflict", "Transaction is ongoing for the item")
    # Reads of single items meet no conflicts, on AWS either.
    assert numbers(client) == set()
    assert client.execute_statement(Statement="SELECT * FROM orders")["Items"] == []


def throttled(faults: sk.testing.Faults) -> list[int]:
    """Which of sixty writes are throttled."""
    with sk.client("memory:", faults=faults) as client:
        client.create_table(**ORDERS)
        codes = [code_of(partial(put, client, number)) for number in range(60)]
    return [number for number, code in enumerate(codes) if code == "ThrottlingException"]


# A test that fails with a seed must fail again with it.
def test_the_same_seed_rejects_the_same_requests() -> None:
    first = throttled(sk.testing.Faults(throttle=0.3, seed=1))
    assert 0 < len(first) < 60
    assert throttled(sk.testing.Faults(throttle=0.3, seed=1)) == first
    assert throttled(sk.testing.Faults(throttle=0.3, seed=2)) != first


def test_switching_another_fault_on_moves_nothing() -> None:
    others = sk.testing.Faults(throttle=0.3, transaction_conflicts=0.5, unprocessed=0.5)
    assert throttled(others) == throttled(sk.testing.Faults(throttle=0.3))


def test_a_rejected_write_has_written_nothing(open_faulty: OpenFaulty) -> None:
    client = open_faulty("transaction_conflicts=0.5")
    client.create_table(**ORDERS)
    written = set()
    for number in range(20):
        if not code_of(partial(put, client, number)):
            written.add(number)
    assert numbers(client) == written
    assert 0 < len(written) < 20


class FaultyOrder(sk.Item, table="faulty-orders"):
    number: int
    paid: bool = False

    key = sk.Key("ORDER#{number}", "ORDER")


# The model's sessions retry; and their reads in the process must meet the faults, too.
@pytest.mark.slow
def test_sessions_retry_what_is_throttled() -> None:
    faults = sk.testing.Faults(seed=3, throttle=0.3, transaction_conflicts=0.2, unprocessed=0.3)
    with sk.connect("memory:", faults=faults, tables=[FaultyOrder]) as db:
        db.create_tables()
        for number in range(20):
            db.put(FaultyOrder(number=number))
        found = [db.get(FaultyOrder.key(number=number)) for number in range(20)]
        assert [order.number for order in found if order is not None] == [*range(20)]


def test_reads_of_sessions_are_throttled() -> None:
    with sk.connect("memory:", faults=sk.testing.Faults(throttle=1), tables=[FaultyOrder]) as db:
        db.create_tables()
        with pytest.raises((sk.DeadlineExceeded, ClientError)):
            db.within(0.05).get(FaultyOrder.key(number=1))


def test_async_clients_have_the_same_faults() -> None:
    async def use() -> None:
        async with sk.async_client("memory:", faults=sk.testing.Faults(throttle=1)) as client:
            await client.create_table(**ORDERS)
            with pytest.raises(client.exceptions.ThrottlingException):
                await client.put_item(TableName="orders", Item=key(1))
            with pytest.raises(client.exceptions.ThrottlingException):
                await client.get_item(TableName="orders", Key=key(1))

    asyncio.run(use())

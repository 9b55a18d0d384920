"""A small bank, whose books show whether its transactions are atomic.

Each transfer is one transaction over four tables: both accounts, and an entry under the same token in three ledgers,
one with an index, one with a stream, one with a time to live. However many writers there are, and whenever they
are killed, the ledgers must agree with each other and the balances with the ledgers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sortkey.client import Client

ACCOUNTS = tuple(f"account-{number}" for number in range(6))
OPENING_BALANCE = 100
LEDGERS = ("ledger-indexed", "ledger-streamed", "ledger-expiring")
COUNTER = {"id": {"S": "counter"}}
FAR_FUTURE = "99999999999"
BOTH_IMAGES = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
WHOLE_BANK: list[Any] = [{"Get": {"TableName": "accounts", "Key": {"id": {"S": account}}}} for account in ACCOUNTS]


def found(client: Client) -> None:
    """Create the tables and the accounts."""
    create(client, "accounts", index="mover")
    create(client, "counters")
    create(client, "slots", index="kind", StreamSpecification=BOTH_IMAGES)
    create(client, "fleeting", StreamSpecification=BOTH_IMAGES)
    create(client, "ledger-indexed", index="receiver")
    create(client, "ledger-streamed", StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"})
    create(client, "ledger-expiring")
    for table in ("ledger-expiring", "slots", "fleeting"):
        client.update_time_to_live(
            TableName=table, TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires"}
        )
    for account in ACCOUNTS:
        # The mirror always changes with the balance: an item in which they differ is torn.
        item = {"id": account, "mover": "nobody"} | _numbers(OPENING_BALANCE)
        client.put_item(TableName="accounts", Item=wire(item))
    client.put_item(TableName="counters", Item=COUNTER | {"n": {"N": "0"}})


def _numbers(balance: int) -> dict[str, int]:
    return {"balance": balance, "mirror": -balance}


def create(client: Client, table: str, index: str | None = None, **members: Any) -> None:
    keys = ["id"] if index is None else ["id", index]
    if index is not None:
        members["GlobalSecondaryIndexes"] = [index_on(index, f"by-{index}")]
    client.create_table(
        TableName=table,
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in keys],
        BillingMode="PAY_PER_REQUEST",
        **members,
    )


def index_on(attribute: str, name: str) -> dict[str, Any]:
    schema = [{"AttributeName": attribute, "KeyType": "HASH"}]
    return {"IndexName": name, "KeySchema": schema, "Projection": {"ProjectionType": "ALL"}}


def wire(item: dict[str, str | int]) -> dict[str, Any]:
    return {name: {"N": str(value)} if isinstance(value, int) else {"S": value} for name, value in item.items()}


def plain(item: dict[str, Any]) -> dict[str, str | int]:
    return {name: int(value["N"]) if "N" in value else value["S"] for name, value in item.items()}


def transfer(client: Client, mover: str, token: str, giver: str, receiver: str, amount: int) -> bool:
    """Transfer money if there is enough; returns whether there was."""
    entry = wire({"id": token, "giver": giver, "receiver": receiver, "amount": amount})
    entry["expires"] = {"N": FAR_FUTURE}
    actions: list[Any] = [_move(giver, mover, -amount), _move(receiver, mover, amount)]
    actions += [{"Put": {"TableName": ledger, "Item": entry}} for ledger in LEDGERS]
    try:
        client.transact_write_items(TransactItems=actions)
    except client.exceptions.TransactionCanceledException as error:
        codes = [reason["Code"] for reason in error.response["CancellationReasons"]]
        assert codes == ["ConditionalCheckFailed", "None", "None", "None", "None"], codes
        return False
    return True


def _move(account: str, mover: str, amount: int) -> dict[str, Any]:
    update: dict[str, Any] = {
        "TableName": "accounts",
        "Key": {"id": {"S": account}},
        "UpdateExpression": "SET balance = balance + :amount, mirror = mirror - :amount, mover = :mover",
        "ConditionExpression": "balance >= :least",
        "ExpressionAttributeValues": wire({":amount": amount, ":mover": mover, ":least": max(0, -amount)}),
    }
    return {"Update": update}


def increment(client: Client) -> int:
    """Add one to the shared counter by optimistic locking: read, then write if unchanged; returns the new value."""
    while True:
        before = client.get_item(TableName="counters", Key=COUNTER, ConsistentRead=True)["Item"]["n"]
        after = {"N": str(int(before["N"]) + 1)}
        try:
            client.update_item(
                TableName="counters",
                Key=COUNTER,
                UpdateExpression="SET n = :after",
                ConditionExpression="n = :before",
                ExpressionAttributeValues={":after": after, ":before": before},
            )
        except client.exceptions.ConditionalCheckFailedException:
            continue
        return int(after["N"])


def counter(client: Client) -> int:
    return int(client.get_item(TableName="counters", Key=COUNTER)["Item"]["n"]["N"])


def rows(client: Client, table: str, **members: Any) -> Iterator[dict[str, str | int]]:
    for page in client.get_paginator("scan").paginate(TableName=table, **members):
        yield from map(plain, page["Items"])


def audit(client: Client) -> set[str]:
    """Check that the books agree; returns the tokens of all transfers."""
    ledgers = [{str(row["id"]): row for row in rows(client, ledger)} for ledger in LEDGERS]
    assert ledgers[0] == ledgers[1] == ledgers[2], "a transaction is half there"
    balances = dict.fromkeys(ACCOUNTS, OPENING_BALANCE)
    for entry in ledgers[0].values():
        balances[str(entry["giver"])] -= int(entry["amount"])
        balances[str(entry["receiver"])] += int(entry["amount"])
    for index in ({}, {"IndexName": "by-mover"}):
        accounts = list(rows(client, "accounts", **index))
        check_accounts(accounts)
        assert {row["id"]: row["balance"] for row in accounts} == balances
    return set(ledgers[0])


def check_accounts(accounts: list[dict[str, str | int]]) -> None:
    """Every account exists once, is not torn, and is not in debt."""
    assert sorted(str(account["id"]) for account in accounts) == list(ACCOUNTS)
    for account in accounts:
        assert int(account["balance"]) == -int(account["mirror"]), "a torn item"
        assert int(account["balance"]) >= 0


def streamed(client: Client) -> list[str]:
    """The tokens in the stream, in its order."""
    arn = client.list_streams(TableName="ledger-streamed")["Streams"][0]["StreamArn"]
    tokens: list[str] = []
    for shard in client.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
        position = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        iterator = client.get_shard_iterator(**position)["ShardIterator"]
        while (page := client.get_records(ShardIterator=iterator))["Records"]:
            tokens += [record["dynamodb"]["Keys"]["id"]["S"] for record in page["Records"]]
            iterator = page["NextShardIterator"]
    return tokens

"""Many workers and readers of one bank: a worker writes, a reader tries to see a half-done transfer."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from random import Random
from threading import Event

import sortkey
from sortkey.client import Client
from tests.faults import bank

INCREMENTS = 20
TRANSFERS = 20


def work(client: Client, name: str) -> list[str]:
    """Count and transfer in a random order; returns the tokens of the transfers that were made."""
    random = Random(name)
    chores = ["count"] * INCREMENTS + ["transfer"] * TRANSFERS
    random.shuffle(chores)
    made = []
    for number, chore in enumerate(chores):
        if chore == "count":
            bank.increment(client)
            continue
        giver, receiver = random.sample(bank.ACCOUNTS, 2)
        token = f"{name}-{number}"
        if bank.transfer(client, name, token, giver, receiver, random.randint(1, 60)):
            made.append(token)
    return made


def read(client: Client, over: Event) -> int:
    """Read in every way until the work is over; returns the number of rounds."""
    looks = 0
    while not over.is_set() or looks == 0:
        answer = client.transact_get_items(TransactItems=bank.WHOLE_BANK)
        accounts = [bank.plain(response["Item"]) for response in answer["Responses"]]
        bank.check_accounts(accounts)
        assert sum(int(account["balance"]) for account in accounts) == len(bank.ACCOUNTS) * bank.OPENING_BALANCE
        bank.check_accounts(list(bank.rows(client, "accounts")))
        # Each transfer moves an account from one partition of the index to another; it is always in exactly one.
        bank.check_accounts(list(bank.rows(client, "accounts", IndexName="by-mover")))
        _query_each(client)
        looks += 1
    return looks


def _query_each(client: Client) -> None:
    for account in bank.ACCOUNTS:
        page = client.query(
            TableName="accounts",
            KeyConditionExpression="id = :id",
            ExpressionAttributeValues={":id": {"S": account}},
        )
        (found,) = map(bank.plain, page["Items"])
        assert int(found["balance"]) == -int(found["mirror"]), "a torn item"


def crowd(client: Client, names: list[str], readers: int) -> list[str]:
    """Runs one thread for each worker, and some readers; returns the tokens of all transfers."""
    over = Event()
    with ThreadPoolExecutor(len(names) + readers) as threads:
        reading: list[Future[int]] = [threads.submit(read, client, over) for _ in range(readers)]
        working = [threads.submit(work, client, name) for name in names]
        try:
            tokens = [token for worker in working for token in worker.result()]
        finally:
            over.set()
        assert all(reader.result() > 0 for reader in reading)
    return tokens


def crowd_in_process(folder: str, names: list[str]) -> list[str]:
    with sortkey.client(folder) as client:
        return crowd(client, names, readers=1)


def increment_in_process(folder: str) -> int:
    with sortkey.client(folder) as client:
        return bank.increment(client)

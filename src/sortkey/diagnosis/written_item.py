"""Whether an endpoint keeps what is written: one item is put into a table, read and deleted."""

from __future__ import annotations

import secrets
import time
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from sortkey.client.remote import RemoteClient
from sortkey.client.stores import Remote
from sortkey.diagnosis.amounts import seconds_text
from sortkey.diagnosis.endpoint import time_limit
from sortkey.diagnosis.finding import Finding, fail, ok

_ADVICE: Final = "look at the table's name, the key's rights and the endpoint's log"


def examine_write(url: str, remote: Remote, table: str) -> Finding:
    client = RemoteClient(url, remote)
    try:
        with time_limit():
            return _round_trip(client, table)
    except (BotoCoreError, ClientError, TimeoutError) as error:
        return fail("write", f"{table}: {error}", _ADVICE)
    finally:
        client.close()


def _round_trip(client: RemoteClient, table: str) -> Finding:
    key = new_key(client.describe_table(TableName=table)["Table"])
    names = {"#key": next(iter(key))}
    began = time.perf_counter()
    # The condition protects an item that has this key by a coincidence.
    client.put_item(
        TableName=table, Item=key, ConditionExpression="attribute_not_exists(#key)", ExpressionAttributeNames=names
    )
    put = time.perf_counter() - began
    read = client.get_item(TableName=table, Key=key, ConsistentRead=True).get("Item")
    client.delete_item(TableName=table, Key=key)
    if read != key:
        return fail("write", f"{table}: the item that was put could not be read", "look at the endpoint's log")
    return ok("write", f"one item put into {table} in {seconds_text(put)}, read and deleted", put=put)


def new_key(description: dict[str, Any]) -> dict[str, Any]:
    """A key of the table that no item has: random text, a random number or random bytes."""
    types = {each["AttributeName"]: each["AttributeType"] for each in description["AttributeDefinitions"]}
    token = secrets.token_bytes(15)
    values = {"S": f"sortkey-doctor-{token.hex()}", "N": str(int.from_bytes(token, "big")), "B": token}
    names = (each["AttributeName"] for each in description["KeySchema"])
    return {name: {types[name]: values[types[name]]} for name in names}

"""Whether an endpoint is fit: reachable, of which product, how far away, whether its clock is ours, and whether it
keeps what is written."""

from __future__ import annotations

import secrets
import statistics
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from typing import Any, Final, NamedTuple

from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError
from botocore.parsers import ResponseParserError
from botocore.session import Session

from sortkey.client import stores
from sortkey.client.remote import RemoteClient
from sortkey.client.remote_connection import credentials_of_this_machine, remote_settings
from sortkey.client.stores import AWS, UNKNOWN, Capabilities, Remote
from sortkey.clock import DEADLINE, Clock, monotonic
from sortkey.diagnosis.finding import Finding, fail, ok, seconds_text, warn

LONGEST_SECONDS: Final = 10.0
"""For each step, retries included."""
ROUND_TRIPS: Final = 10
SLOW_SECONDS: Final = 0.050
SKEW_SECONDS: Final = 5.0
LONGEST_SKEW_SECONDS: Final = 300.0
"""Beyond it, AWS rejects signatures. (A Sortkey endpoint allows 15 minutes.)"""

_REJECTED: Final = frozenset(
    {
        "ExpiredTokenException",
        "IncompleteSignatureException",
        "InvalidSignatureException",
        "MissingAuthenticationTokenException",
        "UnrecognizedClientException",
    }
)
_CREDENTIALS_ADVICE: Final = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to a key that the endpoint knows"


class Unfit(Exception):
    """The endpoint cannot be examined further; the finding says why."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.found)
        self.finding = finding


class Answered(NamedTuple):
    """An answer of the endpoint, even if it was an error."""

    metadata: Mapping[str, Any]
    middle: float
    """The time half-way between the request and its answer, on this machine's clock."""
    error: ClientError | None


@contextmanager
def time_limit() -> Iterator[None]:
    limited = DEADLINE.set(monotonic() + LONGEST_SECONDS)
    try:
        yield
    finally:
        DEADLINE.reset(limited)


def examine_endpoint(url: str, remote: Remote, clock: Clock) -> list[Finding]:
    credentials = examine_credentials(remote)
    client = RemoteClient(url, remote)
    try:
        answered = ask(client, clock)
        known = remote_settings(remote).capabilities or stores.capabilities_of({"ResponseMetadata": answered.metadata})
        found = [judge_answer(url, answered), credentials, judge_product(known), judge_clock(answered)]
        return found if answered.error is not None else [*found, examine_latency(client)]
    except Unfit as unfit:
        return [unfit.finding, credentials]
    finally:
        client.close()


def examine_credentials(remote: Remote) -> Finding:
    """Where botocore finds them. Their values are not shown."""
    needed = remote_settings(remote).capabilities is AWS
    session = Session()
    # Only AWS's own machines answer for them on the network.
    found = session.get_credentials() if needed else credentials_of_this_machine(session)
    if found is not None:
        return ok("credentials", f"found ({found.method})")
    if needed:
        return fail("credentials", "none found", "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE")
    return ok("credentials", "none found; requests are signed with any key, which suffices without --keys")


def ask(client: RemoteClient, clock: Clock) -> Answered:
    """List one table name, which every product can. Raises Unfit if there is no answer in DynamoDB's protocol."""
    error: ClientError | None = None
    try:
        with time_limit():
            began = clock.now()
            answer: Mapping[str, Any] = client.list_tables(Limit=1)
    except ClientError as raised:
        error, answer = raised, raised.response
        # botocore takes the status for the code where the body has none.
        if raised.response["Error"]["Code"].isdigit():
            raise Unfit(_foreign(f"HTTP status {raised.response['Error']['Code']}")) from raised
    except NoCredentialsError as raised:
        raise Unfit(fail("endpoint", "not asked, because requests need credentials", _CREDENTIALS_ADVICE)) from raised
    except ResponseParserError as raised:
        raise Unfit(_foreign("text that is not JSON")) from raised
    except (BotoCoreError, TimeoutError) as raised:
        advice = "start it, or correct the URL; look at the firewall, the proxy and the certificate"
        raise Unfit(fail("endpoint", f"cannot be reached: {raised}", advice)) from raised
    if error is None and "TableNames" not in answer:
        raise Unfit(_foreign("JSON without table names"))
    return Answered(answer["ResponseMetadata"], (began + clock.now()) / 2, error)


def _foreign(answer: str) -> Finding:
    advice = "use the DynamoDB endpoint's port (sortkey up: --db-port), not the services'"
    return fail("endpoint", f"answers with {answer}: that is not DynamoDB's protocol", advice)


def judge_answer(url: str, answered: Answered) -> Finding:
    if answered.error is None:
        return ok("endpoint", f"{url} answers")
    code, message = (answered.error.response["Error"].get(name, "") for name in ("Code", "Message"))
    if code in _REJECTED:
        return fail("endpoint", f"{url} rejects the signature: {code}: {message}", _CREDENTIALS_ADVICE)
    if code == "AccessDeniedException":
        return ok("endpoint", f"{url} answers; these credentials may not list tables")
    return fail("endpoint", f"{url} answers {code}: {message}", "look at its log and at its metrics")


def judge_product(found: Capabilities) -> Finding:
    if found is UNKNOWN:
        advice = "name the product in the URL: ?store=aws, alternator, dynamodb-local or sortkey"
        return warn("product", "unknown; assumed to be compatible", advice)
    lacks = [name for name in ("transactions", "streams", "ttl", "index_projections") if not getattr(found, name)]
    without = f"; without {', '.join(lacks).replace('_', ' ')}" if lacks else ""
    return ok("product", f"{found.store}{without}")


def judge_clock(answered: Answered) -> Finding:
    date = answered.metadata["HTTPHeaders"].get("date")
    try:
        # The header has whole seconds: half a second later is the best guess.
        skew = parsedate_to_datetime(date).timestamp() + 0.5 - answered.middle
    except (TypeError, ValueError):
        return warn("clock skew", "unknown: the answer has no Date", "compare the clocks by hand")
    if abs(skew) <= SKEW_SECONDS:
        return ok("clock skew", f"less than {SKEW_SECONDS:.0f} s", skew=skew)
    direction = "ahead of" if skew > 0 else "behind"
    found = f"the endpoint's clock is {seconds_text(abs(skew))} {direction} this machine's"
    advice = "set the clocks by NTP: signatures are rejected when they differ by minutes"
    return (fail if abs(skew) > LONGEST_SKEW_SECONDS else warn)("clock skew", found, advice, skew=skew)


def examine_latency(client: RemoteClient) -> Finding:
    """Of requests on a connection that is open already."""
    seconds: list[float] = []
    try:
        with time_limit():
            for _ in range(ROUND_TRIPS):
                began = monotonic()
                client.list_tables(Limit=1)
                seconds.append(monotonic() - began)
    except (BotoCoreError, ClientError, TimeoutError) as error:
        return fail("latency", f"request {len(seconds) + 2} failed: {error}", "look at the endpoint's log and metrics")
    return judge_latency(statistics.median(seconds), max(seconds))


def judge_latency(median: float, worst: float) -> Finding:
    found = f"median {seconds_text(median)}, worst {seconds_text(worst)}, of {ROUND_TRIPS} requests"
    if median > SLOW_SECONDS:
        advice = "run closer to the endpoint: each request waits this long"
        return warn("latency", found, advice, median=median, worst=worst)
    return ok("latency", found, median=median, worst=worst)


_ADVICE: Final = "look at the table's name, the key's rights and the endpoint's log"


def examine_write(url: str, remote: Remote, table: str) -> Finding:
    """Put one item into a table, read it and delete it."""
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
    began = monotonic()
    # The condition protects an item that has this key by a coincidence.
    client.put_item(
        TableName=table, Item=key, ConditionExpression="attribute_not_exists(#key)", ExpressionAttributeNames=names
    )
    put = monotonic() - began
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

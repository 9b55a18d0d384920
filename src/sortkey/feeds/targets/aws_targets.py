"""`sk.feeds.EventBridgeBus` and `sk.feeds.SnsTopic`: events to AWS, in requests of up to ten.

AWS may take some events of a request and not others. Those that it did not take are sent again, with pauses. If they
stay, that is an outage, and the feed sends all of the batch again. So an event may come twice, with the same id.

A topic of SNS whose name ends with `.fifo` keeps the order of a key's events: a request has one event of a key, so that
none overtakes one that AWS did not take. It also leaves out what it got within five minutes before. EventBridge and the
other topics keep no order.
"""

from __future__ import annotations

import asyncio
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256
from importlib import import_module
from operator import itemgetter
from threading import Lock
from typing import Any, Final, NamedTuple

from botocore.exceptions import ClientError

from sortkey.feeds.targets.event_target import EventRejected, OutgoingEvent
from sortkey.model.calls.steps import Pacing
from sortkey.model.errors import DeclarationError

MOST_ENTRIES: Final = 10
MOST_BYTES: Final = 256 * 1024
"""Of a request, and of an event."""
TRIES: Final = 5
PACING: Final = Pacing(first_pause=0.1, longest_pause=2.0)

_ARN: Final = re.compile(r"arn:aws[a-z-]*:(?P<service>[a-z]+):(?P<region>[a-z0-9-]+):[0-9]{12}:(?P<name>\S+)")
_BUS: Final = re.compile(r"[A-Za-z0-9._/-]{1,256}")
_SOURCE: Final = re.compile(r"(?!aws\.)\S.{0,255}")
_GROUP: Final = re.compile(r"[!-~]{1,128}", re.ASCII)
_KINDS: Final = 128
_OF_THE_EVENT: Final = frozenset(
    {"InvalidArgument", "InvalidParameter", "InvalidParameterValue", "MalformedDetail", "MessageTooLong"}
)
"""Codes of entries that the same event would get again."""


class Entry(NamedTuple):
    event: OutgoingEvent
    request: dict[str, Any]
    size: int


class Failure(NamedTuple):
    entry: Entry
    code: str
    message: str


class AwsTarget:
    """What buses and topics have in common."""

    def __init__(self, name: str, service: str, operation: str, region: str | None, client: Any) -> None:
        self._name = name
        self._service = service
        self._operation = operation
        self._region = region
        self._known_client = client
        self._making_client = Lock()

    def __repr__(self) -> str:
        return f"<{self._service} {self._name}>"

    async def send(self, events: Sequence[OutgoingEvent]) -> None:
        entries = [self._entry(event) for event in events]
        large = next((entry for entry in entries if entry.size > MOST_BYTES), None)
        if large is not None:
            raise EventRejected(f"the event {large.event.id} has {large.size:,} bytes, and AWS takes {MOST_BYTES:,}")
        for batch in self._batches(entries):
            await self._deliver(batch)

    async def _deliver(self, batch: list[Entry]) -> None:
        tries = 0
        while True:
            failures = await asyncio.to_thread(self._post, batch)
            if not failures:
                return
            poisoned = next((each for each in failures if each.code in _OF_THE_EVENT), None)
            if poisoned is not None:
                raise EventRejected(f"AWS rejects the event {poisoned.entry.event.id}: {_words(poisoned)}")
            tries += 1
            if tries == TRIES:
                first = failures[0]
                raise ClientError({"Error": {"Code": first.code, "Message": first.message}}, self._operation)
            await asyncio.sleep(PACING.pause(tries - 1).seconds)
            batch = [failure.entry for failure in failures]

    def _batches(self, entries: Sequence[Entry]) -> Iterator[list[Entry]]:
        batch: list[Entry] = []
        size = 0
        for entry in entries:
            is_full = len(batch) == MOST_ENTRIES or size + entry.size > MOST_BYTES
            if batch and (is_full or self._must_wait(entry, batch)):
                yield batch
                batch, size = [], 0
            batch.append(entry)
            size += entry.size
        if batch:
            yield batch

    @property
    def _client(self) -> Any:
        # botocore's sessions are for one thread.
        with self._making_client:
            if self._known_client is None:
                # Imported here: most programs send nothing to AWS but DynamoDB's requests.
                session = import_module("botocore.session").get_session()
                self._known_client = session.create_client(self._service, region_name=self._region)
            return self._known_client

    @abstractmethod
    def _entry(self, event: OutgoingEvent) -> Entry: ...

    @abstractmethod
    def _post(self, batch: Sequence[Entry]) -> list[Failure]:
        """Send one request; those that AWS did not take."""

    @abstractmethod
    def _must_wait(self, entry: Entry, batch: Sequence[Entry]) -> bool:
        """Whether it may only go after the batch."""


class EventBridgeBus(AwsTarget):
    """An event bus of EventBridge. An event is the `detail`; its id is in it.

        target = sk.feeds.EventBridgeBus("shop", source="shop.orders", kind="order-paid")

    `bus` is a name or an ARN, `source` and `kind` are the event's `source` and `detail-type`, by which rules choose.
    `region` is that of the ARN, or the environment's. `client` is boto3's of `events`.
    """

    def __init__(self, bus: str, *, source: str, kind: str, region: str | None = None, client: Any = None) -> None:
        """Raises DeclarationError."""
        found = _ARN.fullmatch(bus)
        if (found is None and not _BUS.fullmatch(bus)) or (found is not None and found["service"] != "events"):
            raise DeclarationError(
                "an event bus is named by its name or its ARN, such as arn:aws:events:eu-west-1:123456789012:"
                f"event-bus/shop, not {bus!r}"
            )
        if not _SOURCE.fullmatch(source):
            raise DeclarationError(f"source is a text such as shop.orders, not beginning with aws., not {source!r}")
        if not 1 <= len(kind) <= _KINDS:
            raise DeclarationError(f"kind has 1 to {_KINDS} characters, not {kind!r}")
        super().__init__(bus, "events", "PutEvents", region or (found and found["region"]) or None, client)
        self._members = {"Source": source, "DetailType": kind, "EventBusName": bus}
        self._fixed = len(source.encode()) + len(kind.encode())

    def _entry(self, event: OutgoingEvent) -> Entry:
        return Entry(event, self._members | {"Detail": event.body.decode()}, self._fixed + len(event.body))

    def _post(self, batch: Sequence[Entry]) -> list[Failure]:
        answer = self._client.put_events(Entries=[entry.request for entry in batch])
        if not answer["FailedEntryCount"]:
            return []
        return [
            Failure(entry, told["ErrorCode"], told.get("ErrorMessage", ""))
            for entry, told in zip(batch, answer["Entries"], strict=True)
            if "ErrorCode" in told
        ]

    def _must_wait(self, entry: Entry, batch: Sequence[Entry]) -> bool:  # noqa: ARG002
        return False


class SnsTopic(AwsTarget):
    """A topic of SNS. An event is the message; its id is an attribute `eventId`, too.

        target = sk.feeds.SnsTopic("arn:aws:sns:eu-west-1:123456789012:orders.fifo")

    `client` is boto3's of `sns`. A topic whose name ends with `.fifo` keeps the order of a key's events.
    """

    def __init__(self, arn: str, *, client: Any = None) -> None:
        """Raises DeclarationError."""
        found = _ARN.fullmatch(arn)
        if found is None or found["service"] != "sns":
            raise DeclarationError(
                f"a topic of SNS is named by its ARN, such as arn:aws:sns:eu-west-1:123456789012:orders, not {arn!r}"
            )
        super().__init__(arn, "sns", "PublishBatch", found["region"], client)
        self._is_fifo = arn.endswith(".fifo")

    def _entry(self, event: OutgoingEvent) -> Entry:
        members: dict[str, Any] = {
            "Message": event.body.decode(),
            "MessageAttributes": {"eventId": {"DataType": "String", "StringValue": event.id}},
        }
        if self._is_fifo:
            members |= {"MessageGroupId": _token(event.key), "MessageDeduplicationId": _token(event.id)}
        return Entry(event, members, len(event.body) + len("eventIdString") + len(event.id.encode()))

    def _post(self, batch: Sequence[Entry]) -> list[Failure]:
        entries = [{"Id": str(number), **entry.request} for number, entry in enumerate(batch)]
        answer = self._client.publish_batch(TopicArn=self._name, PublishBatchRequestEntries=entries)
        return [
            Failure(batch[int(told["Id"])], told["Code"], told.get("Message", ""))
            for told in sorted(answer.get("Failed", []), key=lambda told: int(told["Id"]))
        ]

    def _batches(self, entries: Sequence[Entry]) -> Iterator[list[Entry]]:
        if not self._is_fifo:
            return super()._batches(entries)
        # The first event of each key, then the second ones, and so on: full requests for as long as there are keys.
        seen: Counter[str] = Counter()
        turns: list[tuple[int, Entry]] = []
        for entry in entries:
            turns.append((seen[entry.event.key], entry))
            seen[entry.event.key] += 1
        return super()._batches([entry for _, entry in sorted(turns, key=itemgetter(0))])

    def _must_wait(self, entry: Entry, batch: Sequence[Entry]) -> bool:
        return self._is_fifo and any(each.event.key == entry.event.key for each in batch)


def _token(text: str) -> str:
    """A text that SNS takes as a name; a hash of one that it does not take."""
    return text if _GROUP.fullmatch(text) else sha256(text.encode()).hexdigest()


def _words(failure: Failure) -> str:
    return f"{failure.code}: {failure.message}" if failure.message else failure.code

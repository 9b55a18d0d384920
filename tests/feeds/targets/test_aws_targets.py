"""Events to EventBridge and SNS: what arrives in moto, and what AWS answers when it takes a part only."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.session import get_session
from botocore.stub import ANY, Stubber
from moto import mock_aws

import sortkey as sk
from sortkey.feeds.shards.outages import is_outage
from sortkey.feeds.targets import aws_targets
from sortkey.feeds.targets.aws_targets import MOST_BYTES, TRIES
from sortkey.model.calls.steps import Pacing

REGION = "eu-west-1"
BUS = f"arn:aws:events:{REGION}:123456789012:event-bus/shop"
TOPIC = f"arn:aws:sns:{REGION}:123456789012:orders"

Target = sk.feeds.EventBridgeBus | sk.feeds.SnsTopic


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setattr(aws_targets, "PACING", Pacing(first_pause=0.0, longest_pause=0.0))


@cache
def client(service: str) -> Any:
    """One for all tests, because it takes long to make."""
    keys: Any = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}
    return get_session().create_client(service, region_name=REGION, **keys)


def event(name: str, key: str = "k", size: int = 0) -> sk.feeds.OutgoingEvent:
    body = json.dumps({"eventId": name, "text": "x" * size}).encode()
    return sk.feeds.OutgoingEvent(name, key, body)


def events(number: int, size: int = 0, keys: int = 1) -> list[sk.feeds.OutgoingEvent]:
    return [event(f"e{each}", f"k{each % keys}", size) for each in range(number)]


def bus() -> sk.feeds.EventBridgeBus:
    return sk.feeds.EventBridgeBus(BUS, source="shop.orders", kind="paid", client=client("events"))


def topic(arn: str = TOPIC) -> sk.feeds.SnsTopic:
    return sk.feeds.SnsTopic(arn, client=client("sns"))


class Aws:
    """Answers to come, and the sizes of the requests that got them."""

    def __init__(self, service: str, stubber: Stubber) -> None:
        self._service = service
        self._stubber = stubber

    def takes(self, *names: str, failing: dict[str, str] | None = None) -> None:
        """A request with exactly these events; those that fail get a code."""
        codes = failing or {}
        if self._service == "events":
            entries = [
                {"ErrorCode": codes[name], "ErrorMessage": "on purpose"} if name in codes else {"EventId": name}
                for name in names
            ]
            self._stubber.add_response(
                "put_events",
                {"FailedEntryCount": len(codes), "Entries": entries},
                {"Entries": [_Detail(name) for name in names]},
            )
        else:
            failed = [
                {"Id": str(at), "Code": codes[name], "Message": "on purpose", "SenderFault": False}
                for at, name in enumerate(names)
                if name in codes
            ]
            self._stubber.add_response(
                "publish_batch",
                {"Failed": failed},
                {"TopicArn": ANY, "PublishBatchRequestEntries": [_Message(name) for name in names]},
            )


class _Detail:
    """Equal to an entry with this event."""

    member = "Detail"

    def __init__(self, name: str) -> None:
        self._name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, dict) and json.loads(other[self.member])["eventId"] == self._name

    def __hash__(self) -> int:
        return hash(self._name)

    def __repr__(self) -> str:
        return f"<entry of {self._name}>"


class _Message(_Detail):
    member = "Message"


@pytest.fixture(params=["events", "sns"])
def service(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def aws(service: str) -> Iterator[Aws]:
    with Stubber(client(service)) as stubber:
        yield Aws(service, stubber)
        stubber.assert_no_pending_responses()


@pytest.fixture
def target(service: str) -> Target:
    return bus() if service == "events" else topic()


def send(target: Target, sent: list[sk.feeds.OutgoingEvent]) -> None:
    asyncio.run(target.send(sent))


def test_a_request_has_ten_events_at_most(aws: Aws, target: Target) -> None:
    aws.takes(*(f"e{each}" for each in range(10)))
    aws.takes("e10", "e11")
    send(target, events(12))
    send(target, [])


def test_a_request_has_256_kilobytes_at_most(aws: Aws, target: Target) -> None:
    aws.takes("e0", "e1")
    aws.takes("e2")
    send(target, events(3, size=100_000))


# Nothing is sent before all are known to fit: the feed sends the others again.
def test_an_event_that_is_too_large_is_rejected_before_any_is_sent(aws: Aws, target: Target) -> None:  # noqa: ARG001
    with pytest.raises(sk.feeds.EventRejected, match=r"the event big has 262,\d\d\d bytes, and AWS takes 262,144"):
        send(target, [event("e0"), event("big", size=MOST_BYTES)])


def test_only_what_was_not_taken_is_sent_again(aws: Aws, target: Target) -> None:
    aws.takes("e0", "e1", "e2", failing={"e0": "ThrottlingException", "e2": "InternalFailure"})
    aws.takes("e0", "e2", failing={"e2": "InternalFailure"})
    aws.takes("e2")
    send(target, events(3))


def test_what_is_never_taken_is_an_outage(aws: Aws, target: Target) -> None:
    aws.takes("e0", "e1", failing={"e1": "InternalFailure"})
    for _ in range(TRIES - 1):
        aws.takes("e1", failing={"e1": "InternalFailure"})
    with pytest.raises(ClientError, match="on purpose") as raised:
        send(target, events(2))
    assert is_outage(raised.value)


# The operator mends it, and no event may be lost meanwhile.
def test_rights_that_are_missing_are_an_outage(target: Target, service: str) -> None:
    with Stubber(client(service)) as stubber:
        stubber.add_client_error("put_events" if service == "events" else "publish_batch", "AccessDeniedException")
        with pytest.raises(ClientError) as raised:
            send(target, events(2))
    assert is_outage(raised.value)


@pytest.mark.parametrize("code", ["MalformedDetail", "InvalidParameterValue"])
def test_an_event_that_aws_rejects_is_poison(aws: Aws, target: Target, code: str) -> None:
    aws.takes("e0", "e1", failing={"e1": code})
    with pytest.raises(sk.feeds.EventRejected, match=f"AWS rejects the event e1: {code}: on purpose"):
        send(target, events(2))


# Otherwise the third event would overtake the first when AWS takes the third alone.
@pytest.mark.parametrize("service", ["sns"], indirect=True)
def test_a_fifo_topic_gets_one_event_of_a_key_at_a_time(aws: Aws) -> None:
    aws.takes("a1", "b1", failing={"a1": "InternalError"})
    aws.takes("a1")
    aws.takes("a2", "b2")
    aws.takes("a3")
    send(topic(f"{TOPIC}.fifo"), [event(name, key=name[0]) for name in ("a1", "a2", "a3", "b1", "b2")])


class Queue:
    def __init__(self, name: str) -> None:
        self._client = client("sqs")
        self.url = self._client.create_queue(
            QueueName=name, Attributes={"FifoQueue": "true"} if name.endswith(".fifo") else {}
        )["QueueUrl"]
        self.arn = self._client.get_queue_attributes(QueueUrl=self.url, AttributeNames=["QueueArn"])["Attributes"][
            "QueueArn"
        ]

    def messages(self) -> list[dict[str, Any]]:
        answer = self._client.receive_message(QueueUrl=self.url, MaxNumberOfMessages=10)
        return [json.loads(message["Body"]) for message in answer.get("Messages", [])]


@pytest.fixture
def moto() -> Iterator[None]:
    with mock_aws():
        yield


@pytest.mark.slow
@pytest.mark.usefixtures("moto")
def test_a_rule_of_a_bus_finds_events_by_source_and_kind() -> None:
    queue, bridge = Queue("paid"), client("events")
    bridge.create_event_bus(Name="shop")
    pattern = {"source": ["shop.orders"], "detail-type": ["paid"]}
    bridge.put_rule(Name="paid", EventBusName="shop", EventPattern=json.dumps(pattern))
    bridge.put_targets(Rule="paid", EventBusName="shop", Targets=[{"Id": "queue", "Arn": queue.arn}])
    # The client is made from the environment.
    send(sk.feeds.EventBridgeBus("shop", source="shop.orders", kind="paid", region=REGION), [event("e1")])
    send(sk.feeds.EventBridgeBus("shop", source="shop.orders", kind="shipped", region=REGION), [event("e2")])
    (found,) = queue.messages()
    assert (found["source"], found["detail-type"], found["detail"]["eventId"]) == ("shop.orders", "paid", "e1")


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["", ".fifo"])
@pytest.mark.usefixtures("moto")
def test_subscribers_of_a_topic_get_events_with_their_ids(suffix: str) -> None:
    queue, sns = Queue(f"orders{suffix}"), client("sns")
    made = sns.create_topic(Name=f"orders{suffix}", Attributes={"FifoTopic": "true"} if suffix else {})
    sns.subscribe(TopicArn=made["TopicArn"], Protocol="sqs", Endpoint=queue.arn)
    # SNS takes no such name of a group.
    send(sk.feeds.SnsTopic(made["TopicArn"]), [event("e1", key="Käse"), event("e2", key="b")])
    found = queue.messages()
    assert sorted(json.loads(each["Message"])["eventId"] for each in found) == ["e1", "e2"]
    assert sorted(each["MessageAttributes"]["eventId"]["Value"] for each in found) == ["e1", "e2"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"bus": "no bus"}, "an event bus is named by its name or its ARN"),
        ({"bus": TOPIC}, "an event bus is named by its name or its ARN"),
        ({"source": "aws.orders"}, r"not beginning with aws\."),
        ({"source": ""}, "source is a text"),
        ({"kind": ""}, "kind has 1 to 128 characters"),
    ],
)
def test_a_bus_that_cannot_be(arguments: dict[str, str], message: str) -> None:
    with pytest.raises(sk.DeclarationError, match=message):
        sk.feeds.EventBridgeBus(**({"bus": "shop", "source": "shop", "kind": "paid"} | arguments))


@pytest.mark.parametrize("arn", ["orders", BUS, ""])
def test_a_topic_that_cannot_be(arn: str) -> None:
    with pytest.raises(sk.DeclarationError, match="a topic of SNS is named by its ARN"):
        sk.feeds.SnsTopic(arn)

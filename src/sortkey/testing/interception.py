"""botocore's DynamoDB clients, answered by the store of a test.

botocore emits events of each request. `before-send` may answer it in the place of the network, and `choose-signer` may
leave it unsigned, so that no credentials are needed. A handler registered on a session reaches only clients that are
made later, so we stand before the emitter that all clients have: those that exist, those to come, and aiobotocore's,
which awaits what it emits. A client that is made without a region gets one, and every client gets credentials that are
none: it can never reach AWS, not even after the test.

While no store is open, botocore is as it was.
"""

from __future__ import annotations

import functools
import inspect
import threading
import zlib
from collections.abc import Callable, Iterator
from email.utils import formatdate
from itertools import count
from typing import Any, Final, NamedTuple
from uuid import uuid4
from weakref import WeakKeyDictionary

import botocore
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.hooks import EventAliaser
from botocore.session import Session

from sortkey.client.own_clients import are_made_by_us, is_one_of_ours
from sortkey.engine import requests
from sortkey.engine.database import Database
from sortkey.engine.operations.answers import to_json
from sortkey.errors import DynamoDBError, UnknownOperationException
from sortkey.storage import FolderBusy
from sortkey.testing.stores import STORES, OpenStore, Others
from sortkey.wire.messages import TARGETS, CoralError, error_json

CLIENTS: Final = frozenset({"dynamodb", "dynamodbstreams"})
"""The services, as clients are made."""
EVENTS: Final = frozenset({"dynamodb", "dynamodb-streams"})
"""The same, as events name them."""
REGION: Final = "us-east-1"
CREDENTIAL: Final = "sortkey-testing"

OK: Final = 200
UNAVAILABLE: Final = 503

_SENDING: Final = "before-send.dynamodb"
_SIGNING: Final = "choose-signer.dynamodb"
_CALLING: Final = "before-call."
_CREATE_CLIENT: Final = inspect.signature(Session.create_client)


class RefusedService(RuntimeError):
    """A test that refuses other services has called one."""


class Message(NamedTuple):
    """What HTTP would carry."""

    status: int
    body: bytes


class _Replaced(NamedTuple):
    owner: type[Any]
    name: str
    original: Any
    ours: Any


class Interception:
    """What stands in the place of botocore's methods while stores are open."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._replaced: list[_Replaced] = []
        self._is_async: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()

    def open(self, database: Callable[[], Database | None], others: Others) -> OpenStore:
        with self._lock:
            self._replace(EventAliaser, "emit", self._emit)
            self._replace(EventAliaser, "emit_until_response", self._emit_until_response)
            self._replace(Session, "__init__", self._init_session)
            for kind in _kinds(Session):
                self._replace(kind, "create_client", self._create_client)
            return STORES.open(database, others)

    def close(self, store: OpenStore) -> None:
        with self._lock:
            if STORES.close(store):
                self._restore()

    def _replace(self, owner: type[Any], name: str, make: Callable[[Any], Any]) -> None:
        original = vars(owner).get(name)
        if original is None or any((each.owner, each.name) == (owner, name) for each in self._replaced):
            return
        ours = functools.wraps(original)(make(original))
        setattr(owner, name, ours)
        self._replaced.append(_Replaced(owner, name, original, ours))

    def _restore(self) -> None:
        kept = []
        for each in self._replaced:
            if vars(each.owner)[each.name] is each.ours:
                setattr(each.owner, each.name, each.original)
            else:
                # Somebody has replaced ours, and calls it. It passes on what is not for a store.
                kept.append(each)
        self._replaced = kept

    def _emit(self, original: Any) -> Any:
        def emit(events: Any, event_name: str, **arguments: Any) -> Any:
            if event_name.startswith(_SENDING) and _service(event_name) in EVENTS and not is_one_of_ours(events):
                store = STORES.of_request(events)
                if store is not None:
                    return self._answered(original, events, _send(store, arguments["request"]))
            return original(events, event_name, **arguments)

        return emit

    def _answered(self, original: Any, events: Any, message: Message) -> Any:
        """What `emit` returns for a request that a handler has answered."""
        is_async = self._is_async.get(events)
        if is_async is None:
            emitted = original(events, "sortkey-testing")  # for which there are no handlers
            is_async = self._is_async[events] = inspect.iscoroutine(emitted)
            if is_async:
                emitted.close()
        if is_async:
            return _awaited([(_send, _AsyncResponse(message))])
        return [(_send, _Response(message))]

    def _emit_until_response(self, original: Any) -> Any:
        def emit_until_response(events: Any, event_name: str, **arguments: Any) -> Any:
            is_signing = event_name.startswith(_SIGNING) and _service(event_name) in EVENTS
            if not is_signing and not event_name.startswith(_CALLING):
                return original(events, event_name, **arguments)
            store = None if is_one_of_ours(events) else STORES.of_request(events)
            if store is not None and not is_signing:
                _check_allowed(store, event_name)
            found = original(events, event_name, **arguments)
            if store is None or not is_signing:
                return found
            unsigned = (None, botocore.UNSIGNED)
            return _instead(found, unsigned) if inspect.isawaitable(found) else unsigned

        return emit_until_response

    def _init_session(self, original: Any) -> Any:
        def init(session: Any, *arguments: Any, **named: Any) -> None:
            # aiobotocore may have been imported after the store was opened.
            with self._lock:
                if self._replaced:
                    for kind in _kinds(Session):
                        self._replace(kind, "create_client", self._create_client)
            original(session, *arguments, **named)

        return init

    def _create_client(self, original: Any) -> Any:
        def create_client(*arguments: Any, **named: Any) -> Any:
            call = _CREATE_CLIENT.bind(*arguments, **named).arguments
            if call["service_name"] not in CLIENTS or are_made_by_us() or STORES.of_request() is None:
                return original(*arguments, **named)
            session = call.pop("self")
            config = call.get("config") or session.get_default_client_config()
            if call.get("region_name") is None and getattr(config, "region_name", None) is None:
                call["region_name"] = session.get_config_variable("region") or REGION
            call |= {"aws_access_key_id": CREDENTIAL, "aws_secret_access_key": CREDENTIAL, "aws_session_token": None}
            made = original(session, **call)
            if hasattr(made, "meta"):  # aiobotocore's is not made yet
                STORES.made(made.meta.events)
            return made

        return create_client


def _kinds(kind: type[Any]) -> Iterator[type[Any]]:
    """The class, and those that are made from it: aiobotocore's."""
    yield kind
    for each in kind.__subclasses__():
        yield from _kinds(each)


def _service(event_name: str) -> str:
    """That of `before-send.dynamodb.GetItem`."""
    return event_name.split(".")[1]


def _check_allowed(store: OpenStore, event_name: str) -> None:
    _, service, operation = event_name.split(".")
    if store.others == "refuse" and service not in EVENTS:
        raise RefusedService(
            f"{operation} of {service} was called in a test with sk.testing.local(others='refuse'), which answers "
            "DynamoDB alone"
        )


def _send(store: OpenStore, request: AWSPreparedRequest) -> Message:
    """The handler of `before-send`."""
    target: Any = request.headers.get("X-Amz-Target", "")
    body: Any = request.body
    return _answer(
        store.database,
        target if isinstance(target, bytes) else target.encode(),
        body.encode() if isinstance(body, str) else body,
    )


def _answer(database: Database, target: bytes, body: bytes) -> Message:
    """As the endpoint answers. Errors of the engine are answers; a bug is raised."""
    operation = TARGETS.get(target)
    try:
        if operation is None:
            raise UnknownOperationException("An unknown operation was requested.")
        return Message(OK, to_json(database.execute(operation, requests.decode(operation, body))))
    except DynamoDBError as error:
        return Message(error.status, error_json(error))
    except FolderBusy as busy:
        unavailable = CoralError(UNAVAILABLE, "ServiceUnavailableException", f"Nothing was written: {busy}")
        return Message(UNAVAILABLE, error_json(unavailable))


async def _awaited(value: Any) -> Any:
    return value


async def _instead(found: Any, value: Any) -> Any:
    await found
    return value


_IDENTITY: Final = uuid4().hex.upper() + "SORT"
_NUMBERS: Final = count(1)


def _headers(body: bytes) -> dict[str, str]:
    """Those of the endpoint."""
    return {
        "Server": "Sortkey",
        "Date": formatdate(usegmt=True),
        "Content-Type": "application/x-amz-json-1.0",
        "x-amzn-RequestId": f"{_IDENTITY}{next(_NUMBERS):016}",
        "x-amz-crc32": str(zlib.crc32(body)),
        "Content-Length": str(len(body)),
    }


class _Body:
    """Read as a stream by botocore."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def stream(self) -> Iterator[bytes]:
        yield self._body


class _Response(AWSResponse):
    def __init__(self, message: Message) -> None:
        headers: Any = _headers(message.body)
        super().__init__("memory:", message.status, headers, _Body(message.body))


class _AsyncResponse(AWSResponse):
    """aiobotocore awaits the content."""

    def __init__(self, message: Message) -> None:
        headers: Any = _headers(message.body)
        super().__init__("memory:", message.status, headers, None)
        self._body = message.body

    @property
    def content(self) -> Any:
        return _awaited(self._body)

    @property
    def text(self) -> Any:
        return _awaited(self._body.decode())


INTERCEPTION: Final = Interception()

"""Which errors are outages, and which are poison, by their classes."""

from __future__ import annotations

import errno
import socket
import sqlite3
import ssl
import urllib.error
from email.message import Message
from typing import Any

import aiohttp
import httpx
import psycopg
import pytest
import requests
import sqlalchemy.exc
import urllib3.exceptions
from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError, ParamValidationError
from confluent_kafka import KafkaError, KafkaException

import sortkey as sk
from sortkey.feeds.shards.outages import FailureRule, Verdict, failure_rule, is_outage
from sortkey.model.errors import DeclarationError

REQUEST = httpx.Request("GET", "http://127.0.0.1")


def of_dynamodb(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "on purpose"}}, "PutItem")


def status(code: int) -> httpx.HTTPStatusError:
    return httpx.HTTPStatusError("on purpose", request=REQUEST, response=httpx.Response(code))


def requests_status(code: int) -> requests.HTTPError:
    response = requests.Response()
    response.status_code = code
    return requests.HTTPError("on purpose", response=response)


def urllib_status(code: int) -> urllib.error.HTTPError:
    return urllib.error.HTTPError("http://127.0.0.1", code, "on purpose", Message(), None)


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


def sqlite_locked() -> sqlite3.OperationalError:
    """As SQLite raises it, with its code."""
    with sqlite3.connect("file:outages?mode=memory&cache=shared", uri=True) as one:
        one.execute("CREATE TABLE IF NOT EXISTS t (a)")
        one.execute("INSERT INTO t VALUES (1)")
        other = sqlite3.connect("file:outages?mode=memory&cache=shared", uri=True, timeout=0)
        try:
            other.execute("SELECT * FROM t")
        except sqlite3.OperationalError as error:
            return error
        finally:
            other.close()
    raise AssertionError("not locked")


@pytest.mark.parametrize(
    "error",
    [
        ConnectionRefusedError(),
        ConnectionResetError(),
        TimeoutError(),
        sk.DeadlineExceeded("late"),
        socket.gaierror(socket.EAI_AGAIN, "on purpose"),
        ssl.SSLError("on purpose"),
        OSError(errno.EHOSTUNREACH, "no route to host"),
        OSError(errno.ENOSPC, "no space left on device"),
        BlockingIOError(errno.EAGAIN, "locked"),
        of_dynamodb("ThrottlingException"),
        of_dynamodb("AccessDeniedException"),
        of_dynamodb("ResourceNotFoundException"),
        EndpointConnectionError(endpoint_url="http://127.0.0.1"),
        NoCredentialsError(),
        sk.TransactionFailed("", ["TransactionConflict", None]),
        sqlite3.OperationalError("database is locked"),
        sqlite_locked(),
        caused(
            sqlalchemy.exc.OperationalError("INSERT", {}, Exception()), sqlite3.OperationalError("database is locked")
        ),
        httpx.ConnectError("refused"),
        httpx.ReadTimeout("late"),
        httpx.RemoteProtocolError("cut off"),
        status(429),
        status(503),
        requests.ConnectionError(),
        requests.ReadTimeout(),
        requests_status(502),
        urllib_status(500),
        urllib.error.URLError(ConnectionRefusedError()),
        urllib3.exceptions.ProtocolError("cut off"),
        aiohttp.ServerDisconnectedError(),
        psycopg.OperationalError("the connection is closed"),
        psycopg.errors.DeadlockDetected(),
        KafkaException(KafkaError(KafkaError._ALL_BROKERS_DOWN)),
        caused(ValueError("the shop cannot be reached"), httpx.ConnectError("refused")),
        ExceptionGroup("two", [ValueError(), httpx.ConnectError("refused")]),
    ],
    ids=repr,
)
def test_errors_of_connections_time_limits_and_locks_are_outages(error: Exception) -> None:
    assert is_outage(error)


@pytest.mark.parametrize(
    "error",
    [
        ValueError(),
        OSError(errno.ENOENT, "no such file"),
        FileNotFoundError(),
        of_dynamodb("ValidationException"),
        ParamValidationError(report="on purpose"),
        sk.TransactionFailed("", ["ConditionalCheckFailed", "TransactionConflict"]),
        sk.ConditionFailed("not met"),
        sqlite3.OperationalError("no such table: t"),
        sqlite3.IntegrityError("UNIQUE constraint failed"),
        httpx.UnsupportedProtocol("ftp"),
        status(404),
        requests_status(400),
        requests.HTTPError("without an answer"),
        urllib_status(404),
        psycopg.errors.UniqueViolation(),
        KafkaException(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)),
        ExceptionGroup("two", [ValueError(), KeyError()]),
    ],
    ids=repr,
)
def test_other_errors_are_not(error: Exception) -> None:
    assert FailureRule().verdict(error) is Verdict.UNKNOWN


class MailError(Exception):
    pass


class MailboxFull(MailError):
    pass


# A program knows its own exceptions, and those of libraries that are not known here.
@pytest.mark.parametrize("outage", [MailError, f"{__name__}.MailError", "tests.MailError"], ids=repr)
def test_the_nearest_class_that_is_named_counts(outage: Any) -> None:
    rule = failure_rule("change feed mail", 5, 3, [outage], [MailboxFull, "ConnectionResetError"])
    assert rule.verdict(MailError()) is Verdict.OUTAGE
    assert rule.verdict(MailboxFull()) is Verdict.POISON
    assert rule.verdict(ConnectionResetError()) is Verdict.POISON
    assert rule.verdict(ConnectionRefusedError()) is Verdict.OUTAGE
    assert rule.verdict(ExceptionGroup("", [MailboxFull()])) is Verdict.POISON
    assert rule.verdict(ExceptionGroup("", [MailboxFull(), MailError()])) is Verdict.OUTAGE


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"outages": "TimeoutError"}, 'outages takes several, such as outages=["httpx.ReadTimeout"], not'),
        ({"poison": [int]}, "poison takes classes of exceptions, or their names"),
        ({"poison": ["not a name"]}, "poison takes classes of exceptions, or their names"),
        ({"outages": [KeyError], "poison": ["KeyError"]}, "KeyError is named both as an outage and as poison"),
        ({"in_a_row": 0}, "in_a_row is a number from 1 on, not 0"),
        ({"attempts": 0}, "attempts is a number from 1 on, not 0"),
    ],
    ids=str,
)
def test_wrong_names_are_rejected_at_declaration(arguments: dict[str, Any], says: str) -> None:
    given = {"attempts": 5, "in_a_row": 3, "outages": (), "poison": (), **arguments}
    with pytest.raises(DeclarationError, match="change feed mail: ") as raised:
        failure_rule("change feed mail", **given)
    assert says in str(raised.value)

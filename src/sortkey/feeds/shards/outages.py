"""What an error says: an *outage*, which every item would meet; *poison*, which this item brings; or neither.

Outages are errors of connections, time limits, locks and full disks, and answers that a server is overloaded or broken.
Errors of rights, credentials and missing tables are among them: the operator mends those, and no item may be lost
meanwhile. An item that meets an outage is tried until it is over.

Classes of other libraries are known by their names, so none of them is imported. A name is that of the package and that
of the class: `psycopg.OperationalError` wherever in psycopg it is defined.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any, Final, NamedTuple

from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError

from sortkey.model.errors import DeclarationError, TransactionFailed

ATTEMPTS: Final = 5
IN_A_ROW: Final = 3

ErrorNames = Sequence[type[Exception] | str]
"""Classes of exceptions, or their names, such as "httpx.ReadTimeout"."""

_NAME: Final = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")

_OF_THE_REQUEST: Final = frozenset(
    {
        "ConditionalCheckFailedException",
        "IdempotentParameterMismatchException",
        "ItemCollectionSizeLimitExceededException",
        "SerializationException",
        "TransactionCanceledException",
        "ValidationException",
    }
)
"""Codes of DynamoDB's errors that the same request would get again."""
_PASSING_REASONS: Final = frozenset({"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"})

_CLASSES: Final = frozenset(
    {
        "ConnectionError",
        "TimeoutError",
        "socket.gaierror",
        "ssl.SSLError",
        "smtplib.SMTPConnectError",
        "smtplib.SMTPServerDisconnected",
        "aiohttp.ClientConnectionError",
        "asyncpg.CannotConnectNowError",
        "asyncpg.PostgresConnectionError",
        "asyncpg.TooManyConnectionsError",
        "httpcore.NetworkError",
        "httpcore.TimeoutException",
        "httpx.TransportError",
        "psycopg.OperationalError",
        "psycopg2.InterfaceError",
        "psycopg2.OperationalError",
        "psycopg_pool.PoolTimeout",
        "redis.ConnectionError",
        "redis.TimeoutError",
        "requests.ConnectionError",
        "requests.Timeout",
        "sqlalchemy.DisconnectionError",
        "sqlalchemy.TimeoutError",
        "urllib3.NewConnectionError",
        "urllib3.PoolError",
        "urllib3.ProtocolError",
        "urllib3.ProxyError",
        "urllib3.SSLError",
        "urllib3.TimeoutError",
    }
)
"""Classes whose errors, and those of their subclasses, are outages."""
_OF_THE_CALL: Final = frozenset({"httpx.LocalProtocolError", "httpx.UnsupportedProtocol"})
"""Subclasses of these whose errors the same call would raise again."""
_NUMBERS: Final = frozenset(
    {
        errno.EAGAIN,
        errno.EDEADLK,
        errno.EDQUOT,
        errno.EHOSTDOWN,
        errno.EHOSTUNREACH,
        errno.EMFILE,
        errno.ENETDOWN,
        errno.ENETRESET,
        errno.ENETUNREACH,
        errno.ENFILE,
        errno.ENOBUFS,
        errno.ENOLCK,
        errno.ENOSPC,
        errno.ENOTCONN,
        errno.ETIMEDOUT,
    }
)
"""Of an OSError: the network, a lock, or something that is used up."""
_STATUS_MEMBERS: Final = (
    ("httpx.HTTPStatusError", ("response", "status_code")),
    ("requests.HTTPError", ("response", "status_code")),
    ("aiohttp.ClientResponseError", ("status",)),
    ("urllib.HTTPError", ("code",)),
)
"""Where an error has the status of an answer over HTTP."""
_TOO_MANY_REQUESTS: Final = 429
_SERVER_ERRORS: Final = range(500, 600)
_LIBRDKAFKA: Final = frozenset({-195, -193, -192, -187, -185, -184})
"""No connection, no address, a message not sent in time, no broker, no answer in time, a full queue."""
_SQLITE_BUSY: Final = frozenset({5, 6})
"""SQLITE_BUSY and SQLITE_LOCKED, the last byte of an extended code."""
_SQLITE_WORDS: Final = ("locked", "busy")


class Verdict(Enum):
    OUTAGE = "outage"
    POISON = "poison"
    UNKNOWN = "unknown"


class FailureRule(NamedTuple):
    """What is done with an item that raises; see `sk.feeds.ChangeFeed`."""

    attempts: int | None = ATTEMPTS
    in_a_row: int = IN_A_ROW
    outages: frozenset[str] = frozenset()
    poison: frozenset[str] = frozenset()

    def verdict(self, error: BaseException) -> Verdict:
        """By the names that the program has given, of which that of the nearest class counts; then by those known here.
        An error that was raised `from` another one is what that one is, unless its own class says more."""
        if isinstance(error, BaseExceptionGroup):
            found = {self.verdict(each) for each in error.exceptions}
            return next((each for each in (Verdict.OUTAGE, Verdict.UNKNOWN) if each in found), Verdict.POISON)
        if self.outages or self.poison:
            for cls in type(error).__mro__:
                if not self.poison.isdisjoint(_names(cls)):
                    return Verdict.POISON
                if not self.outages.isdisjoint(_names(cls)):
                    return Verdict.OUTAGE
        if _is_outage(error):
            return Verdict.OUTAGE
        return Verdict.UNKNOWN if error.__cause__ is None else self.verdict(error.__cause__)


def failure_rule(
    where: str, attempts: int | None, in_a_row: int, outages: ErrorNames, poison: ErrorNames
) -> FailureRule:
    """`where` begins the messages. Raises DeclarationError."""
    for what, number in (("attempts", attempts), ("in_a_row", in_a_row)):
        if not (number is None and what == "attempts") and (type(number) is not int or number < 1):
            raise DeclarationError(f"{where}: {what} is a number from 1 on, not {number!r}")
    named = FailureRule(
        attempts,
        in_a_row,
        frozenset(_given_names(where, "outages", outages)),
        frozenset(_given_names(where, "poison", poison)),
    )
    both = named.outages & named.poison
    if both:
        raise DeclarationError(f"{where}: {min(both)} is named both as an outage and as poison; keep one")
    return named


def is_outage(error: BaseException) -> bool:
    """Whether an error of a feed's own requests passes by itself."""
    return USUAL.verdict(error) is Verdict.OUTAGE


def describe(error: BaseException) -> str:
    """The error in one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


USUAL: Final = FailureRule()


def _given_names(where: str, what: str, given: Any) -> Iterator[str]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise DeclarationError(f'{where}: {what} takes several, such as {what}=["httpx.ReadTimeout"], not {given!r}')
    for each in given:
        if isinstance(each, type) and issubclass(each, Exception):
            yield _full_name(each)
        elif isinstance(each, str) and _NAME.fullmatch(each):
            yield each
        else:
            raise DeclarationError(
                f'{where}: {what} takes classes of exceptions, or their names, such as "httpx.ReadTimeout", '
                f"not {each!r}"
            )


def _full_name(cls: type) -> str:
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"


@lru_cache(maxsize=1024)
def _names(cls: type) -> frozenset[str]:
    """The whole name, and the one without the modules in the package."""
    if cls.__module__ == "builtins":
        return frozenset({cls.__qualname__, f"builtins.{cls.__qualname__}"})
    package = cls.__module__.partition(".")[0]
    return frozenset({_full_name(cls), f"{package}.{cls.__qualname__}"})


def _is_outage(error: BaseException) -> bool:
    if isinstance(error, ClientError):
        return error.response["Error"]["Code"] not in _OF_THE_REQUEST
    if isinstance(error, TransactionFailed):
        return {reason for reason in error.reasons if reason is not None} <= _PASSING_REASONS
    if isinstance(error, BotoCoreError):
        return not isinstance(error, ParamValidationError)
    names = frozenset().union(*map(_names, type(error).__mro__))
    for name, members in _STATUS_MEMBERS:
        if name in names:
            return _is_server_error(error, members)
    if not _CLASSES.isdisjoint(names):
        return _OF_THE_CALL.isdisjoint(names)
    if "sqlite3.OperationalError" in names:
        return _is_sqlite_busy(error)
    if "urllib.URLError" in names:
        reason = getattr(error, "reason", None)
        return isinstance(reason, BaseException) and _is_outage(reason)
    if "cimpl.KafkaException" in names:
        return _is_broker_trouble(error)
    return isinstance(error, OSError) and error.errno in _NUMBERS


def _is_server_error(error: BaseException, members: Sequence[str]) -> bool:
    status: Any = error
    for name in members:
        status = getattr(status, name, None)
    return status == _TOO_MANY_REQUESTS or status in _SERVER_ERRORS


def _is_sqlite_busy(error: BaseException) -> bool:
    """By SQLite's code; an error without one by its text. "No such table" has the same class."""
    code = getattr(error, "sqlite_errorcode", None)
    if isinstance(code, int):
        return code & 0xFF in _SQLITE_BUSY
    return any(word in str(error) for word in _SQLITE_WORDS)


def _is_broker_trouble(error: BaseException) -> bool:
    """Of librdkafka, which says which of its errors may pass, but for its own ones."""
    found: Any = error.args[0] if error.args else None
    return found is not None and bool(found.retriable() or found.code() in _LIBRDKAFKA)

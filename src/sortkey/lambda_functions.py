"""The handlers of a service's Lambda functions, for the template that `sortkey template` prints.

    sortkey.lambda_functions.http          REST, GraphQL and the documentation page, behind a function URL
    sortkey.lambda_functions.feed          one change feed, on the stream of its table
    sortkey.lambda_functions.schedules     makes schedules of EventBridge Scheduler for timers, on the same stream
    sortkey.lambda_functions.due           what those schedules call
    sortkey.lambda_functions.maintenance   the service's work beside its requests, called now and then

The environment tells them what to do: SERVICE is the service's name, or `package.module:NAME`; STORE is the store's
URL, by default AWS in the function's region; SETTINGS is the service's table of the configuration, as JSON; TOKENS is
the text of a tokens file; FEED is the name of the feed or of the timers.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import Mapping
from functools import cache
from os import environ
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from sortkey.cli.services import registered_names, service_named
from sortkey.feeds.aws.due_handler import DueHandler, due_handler
from sortkey.feeds.aws.eventbridge import EventBridge
from sortkey.feeds.aws.lambda_handler import LambdaHandler, LambdaLoop, lambda_handler, seconds_left
from sortkey.feeds.changes.change_feed import ChangeFeed
from sortkey.feeds.timers.timers import Timers
from sortkey.late_imports import late_import
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.server.access_log import Entry
from sortkey.services.interface import BadSettings, Maintained, ServiceDefinition

if TYPE_CHECKING:
    from sortkey.server import tokens
    from sortkey.server.lambda_app import LambdaApp

MAINTENANCE_MARGIN: Final = 5.0
"""Seconds before the end of the function's time, in which its work ends."""

FeedT = TypeVar("FeedT", ChangeFeed[Any], Timers[Any])


class _Log:
    """The access log, on standard error. No thread writes it: Lambda stops threads between two events."""

    def write(self, entry: Entry) -> None:
        sys.stderr.write(msgspec.json.encode(entry).decode() + "\n")

    def close(self) -> None:
        """Every line is written."""


def http(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Answers a request."""
    return _http()(event, context)


def feed(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Handles the changes of a stream."""
    return _feed()(event, context)


def schedules(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Makes and deletes the schedules that the changes of a stream ask for."""
    return _schedules()(event, context)


def due(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Handles what a schedule says is due."""
    return _due()(event, context)


def maintenance(_: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Runs the service's maintenance until the function's time is nearly over."""
    loop, definition = _maintenance()
    loop.run(_maintain(loop, definition, seconds_left(context)))
    return {}


def close() -> None:
    """Close what the handlers have opened, in tests: Lambda ends functions without notice."""
    for made in (_http, _feed, _schedules, _due):
        if made.cache_info().currsize:
            made().close()
        made.cache_clear()
    if _maintenance.cache_info().currsize:
        _maintenance()[0].close()
    _maintenance.cache_clear()


@cache
def _http() -> LambdaApp:
    definition = _definition()
    text = environ.get("TOKENS")
    # Imported here, with Litestar and the engine, of which the other functions need nothing.
    module = late_import("sortkey.server.lambda_app")
    known: tokens.Tokens = module.IamCallers() if text is None else _tokens(text, definition.name)
    app: LambdaApp = module.LambdaApp(definition, _settings(), _store(), known, _Log())
    return app


@cache
def _feed() -> LambdaHandler:
    def make(session: AsyncSession) -> ChangeFeed[Any]:
        return _named(session, ChangeFeed)

    return lambda_handler(make, _store(), tables=_definition().tables(_settings()))


@cache
def _schedules() -> LambdaHandler:
    scheduler = EventBridge(
        target=_required("DUE_ARN"),
        role=_required("ROLE_ARN"),
        group=_required("GROUP"),
        dead_letters=environ.get("DEAD_LETTERS_ARN"),
    )

    def make(session: AsyncSession) -> ChangeFeed[Any]:
        return scheduler.feed(_named(session, Timers).schedule, session)

    return lambda_handler(make, _store(), tables=_definition().tables(_settings()))


@cache
def _due() -> DueHandler:
    def make(session: AsyncSession) -> Timers[Any]:
        return _named(session, Timers)

    return due_handler(make, _store(), tables=_definition().tables(_settings()))


@cache
def _maintenance() -> tuple[LambdaLoop, ServiceDefinition]:
    definition = _definition()
    return LambdaLoop(_store(), definition.tables(_settings())), definition


async def _maintain(loop: LambdaLoop, definition: ServiceDefinition, seconds: float | None) -> None:
    service = definition.service(await loop.session(), _settings())
    if not isinstance(service, Maintained):
        raise BadSettings(f"{definition.name!r} has no maintenance")
    async with service.maintenance():
        await asyncio.sleep(max(0.0, (seconds or 0.0) - MAINTENANCE_MARGIN))


def _definition() -> ServiceDefinition:
    logging.getLogger().setLevel(logging.INFO)
    return service_named(_required("SERVICE"))


def _settings() -> Mapping[str, Any]:
    text = environ.get("SETTINGS", "{}")
    try:
        settings = json.loads(text)
    except ValueError as error:
        raise BadSettings(f"SETTINGS is not JSON: {error}") from error
    if not isinstance(settings, dict):
        raise BadSettings(f"SETTINGS is an object of JSON, not {text[:40]}")
    return settings


def _store() -> str:
    return environ.get("STORE") or f"dynamodb://{_required('AWS_REGION')}"


def _named(session: AsyncSession, kind: type[FeedT]) -> FeedT:
    """The feed, or the timers, with the name that FEED says."""
    definition, name = _definition(), _required("FEED")
    found = [each for each in definition.service(session, _settings()).feeds if isinstance(each, kind)]
    for each in found:
        if each.name == name:
            return each
    known = ", ".join(each.name for each in found) or "none"
    raise BadSettings(f"FEED: {definition.name!r} has no {kind.__name__} {name!r}; those that it has: {known}")


def _tokens(text: str, service: str) -> tokens.Tokens:
    """As of a file, which only the function can read."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "tokens.toml")
        path.touch(mode=0o600)
        path.write_text(text, encoding="utf-8")
        loaded: tokens.Tokens = late_import("sortkey.server.tokens").load(path, {service, *registered_names()})
        return loaded


def _required(name: str) -> str:
    found = environ.get(name)
    if not found:
        raise BadSettings(f"the function needs {name} in its environment; sortkey template sets it")
    return found

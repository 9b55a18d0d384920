"""`sortkey follow`: a service's change feeds and timers, apart from its HTTP server."""

from __future__ import annotations

import argparse
import logging
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

from botocore.exceptions import BotoCoreError, ClientError

from sortkey.cli.arguments import (
    Parser,
    add_config_argument,
    add_status_arguments,
    add_store_argument,
    announce,
    print_error,
)
from sortkey.cli.services import add_service_argument, service_with, settings_of, shared_store
from sortkey.extras import installed_by
from sortkey.feeds.follower import LEASE_SECONDS, Follower
from sortkey.feeds.shards.dead_letter import DeadLetter
from sortkey.feeds.shards.metrics import FAMILIES
from sortkey.feeds.status_server import StatusServer
from sortkey.http import process
from sortkey.http.listener import AllowedHosts, CannotListen, is_loopback, listen, url_of
from sortkey.http.metrics import render
from sortkey.model.errors import ModelError
from sortkey.model.sessions.connect import async_connect
from sortkey.services.interface import BadSettings, ServiceDefinition
from sortkey.storage import StorageError

Sink = Callable[[DeadLetter], Awaitable[None]]


class FollowerSettings(NamedTuple):
    lease_seconds: float
    dead_letters: Sink | None
    home: str | None


START_SECONDS: Final = 10.0
"""To reach the broker."""


def add_arguments(command: Parser) -> None:
    add_service_argument(command)
    add_store_argument(command)
    add_config_argument(command)
    command.add_argument(
        "--lease",
        metavar="SECONDS",
        type=float,
        default=LEASE_SECONDS,
        help="after which others take over from a follower that died; the same for all of them (%(default)g)",
    )
    command.add_argument(
        "--home", metavar="REGION", help="the region that follows tables with replicas, if it is not declared"
    )
    command.add_argument("--kafka", metavar="BOOTSTRAP", help="brokers of the topic of dead letters")
    command.add_argument("--dead-letters", metavar="TOPIC", help="a topic that also gets the dead letters")
    command.add_argument("--kafka-config", metavar="FILE", type=Path, help="librdkafka properties, lines of name=value")
    add_status_arguments(command)


def run(arguments: argparse.Namespace) -> int:
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.WARNING)
    try:
        definition = service_with_feeds(arguments.service)
        settings = settings_of(arguments.config, definition.name)
        store = shared_store(arguments.store, "has no changes: no other process can write to it")
        if arguments.lease <= 0:
            raise BadSettings(f"--lease is a number of seconds above 0, not {arguments.lease:g}")
        with ExitStack() as stack:
            listening = stack.enter_context(listen(arguments.host, arguments.metrics_port))
            hosts = AllowedHosts((arguments.host, *arguments.allowed_hosts)) if is_loopback(arguments.host) else None
            dead_letters = topic_of(arguments, stack)
            shared = FollowerSettings(arguments.lease, dead_letters, arguments.home)
            process.run(follow(definition, settings, store, shared, listening, hosts))
    except (BadSettings, CannotListen) as error:
        return print_error("follow", str(error))
    except (BotoCoreError, ClientError, ModelError, StorageError) as error:
        return print_error("follow", f"the store {arguments.store} cannot be used: {error}")
    except KeyboardInterrupt:
        pass  # nothing was handled yet
    return 0


async def follow(
    definition: ServiceDefinition,
    settings: Mapping[str, Any],
    store: str,
    given: FollowerSettings,
    listening: socket.socket,
    hosts: AllowedHosts | None,
) -> None:
    """Run until a signal; when it returns, batches in progress are handled and saved, and the leases given up."""
    async with async_connect(store, tables=definition.tables(settings)) as session:
        service = definition.service(session, settings)
        await service.start()
        if not service.feeds:
            raise BadSettings(f"the service {definition.name} has no change feeds with these settings; see its page")
        follower = Follower(
            session,
            service.feeds,
            lease_seconds=given.lease_seconds,
            dead_letters=given.dead_letters,
            home=given.home,
        )
        process.on_stop_signal(follower.stop)
        process.tune_interpreter()
        with StatusServer(listening, lambda: render(follower.samples(), FAMILIES), hosts):
            await follower.run(lambda: announce(url_of(listening)))


def topic_of(arguments: argparse.Namespace, stack: ExitStack) -> Sink | None:
    """What sends dead letters to the topic, if there is one. Needs the extra `kafka`."""
    if arguments.kafka is None and arguments.dead_letters is None:
        return None
    if arguments.kafka is None or arguments.dead_letters is None:
        raise BadSettings("--kafka and --dead-letters need each other: the brokers, and the topic of dead letters")
    with installed_by("kafka"):
        module = import_module("sortkey.feeds.kafka.dead_letters")
    try:
        topic = module.open_topic(arguments.kafka, arguments.dead_letters, arguments.kafka_config, START_SECONDS)
    except module.KafkaUnusable as error:
        raise BadSettings(str(error)) from error
    sink: Sink = stack.enter_context(topic)
    return sink


def service_with_feeds(name: str) -> ServiceDefinition:
    """Raises BadSettings."""
    lacks = "the service {name} has no change feeds; those that have: {others}"
    return service_with(name, lambda definition: definition.has_feeds, lacks)

"""`sortkey worker`: a Kafka topic's messages into a service."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import uvloop
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
from sortkey.feeds.kafka.kafka_settings import (
    DEAD_LETTERS_SUFFIX,
    KafkaSettings,
    KafkaUnusable,
    prepare,
    read_properties,
)
from sortkey.feeds.kafka.message import Consumer
from sortkey.feeds.kafka.metrics import FAMILIES
from sortkey.feeds.kafka.worker import KafkaWorker, WorkerFailed
from sortkey.feeds.shards.outages import ATTEMPTS, IN_A_ROW, FailureRule, failure_rule
from sortkey.feeds.status_server import StatusServer
from sortkey.http.listener import AllowedHosts, CannotListen, is_loopback, listen, url_of
from sortkey.http.metrics import render
from sortkey.http.process import tune_interpreter
from sortkey.model.errors import DeclarationError, ModelError
from sortkey.model.sessions.connect import async_connect
from sortkey.services.interface import BadSettings, ServiceDefinition
from sortkey.storage import StorageError

START_SECONDS: Final = 10.0
"""To reach the broker."""


def add_arguments(command: Parser) -> None:
    add_service_argument(command)
    command.add_argument("--kafka", metavar="BOOTSTRAP", required=True, help="HOST:PORT of one or more brokers")
    command.add_argument("--topic", metavar="T", required=True, help="the topic to consume")
    command.add_argument("--group", metavar="G", help="workers of one group share the partitions (sortkey-SERVICE)")
    command.add_argument("--dead-letters", metavar="TOPIC", help="where rejected messages go (T.dead-letters)")
    command.add_argument("--attempts", metavar="N", type=int, default=ATTEMPTS, help=f"tries of a message ({ATTEMPTS})")
    command.add_argument(
        "--in-a-row", metavar="N", type=int, default=IN_A_ROW, help=f"messages that fail in an outage ({IN_A_ROW})"
    )
    command.add_argument(
        "--outages", metavar="CLASS", action="append", default=[], help="an exception that is an outage"
    )
    command.add_argument("--poison", metavar="CLASS", action="append", default=[], help="one that rejects a message")
    command.add_argument("--kafka-config", metavar="FILE", type=Path, help="librdkafka properties, lines of name=value")
    add_store_argument(command)
    add_config_argument(command)
    add_status_arguments(command)


def run(arguments: argparse.Namespace) -> int:
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.WARNING)
    try:
        definition = service_with_messages(arguments.service)
        settings = settings_of(arguments.config, definition.name)
        store = shared_store(arguments.store, "would lose all messages when the worker ends")
        kafka = kafka_settings(arguments, definition.name)
        rule = rule_of(arguments)
        with listen(arguments.host, arguments.metrics_port) as listening:
            hosts = AllowedHosts((arguments.host, *arguments.allowed_hosts)) if is_loopback(arguments.host) else None
            prepare(kafka, START_SECONDS)
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(work(definition, settings, kafka, rule, store, listening, hosts))
    except (BadSettings, CannotListen, KafkaUnusable) as error:
        return print_error("worker", str(error))
    except (BotoCoreError, ClientError, ModelError, StorageError) as error:
        return print_error("worker", f"the store {arguments.store} cannot be used: {error}")
    except WorkerFailed as error:
        print_error("worker", str(error))
        return 1
    except KeyboardInterrupt:
        pass  # nothing was consumed yet
    return 0


async def work(
    definition: ServiceDefinition,
    settings: Mapping[str, Any],
    kafka: KafkaSettings,
    rule: FailureRule,
    store: str,
    listening: socket.socket,
    hosts: AllowedHosts | None,
) -> None:
    """Run until a signal; when it returns, batches in progress are in the store and their offsets committed."""
    async with async_connect(store, tables=definition.tables(settings)) as session:
        service = definition.service(session, settings)
        assert isinstance(service, Consumer)
        await service.start()
        worker = KafkaWorker(kafka, service, rule=rule)
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, worker.stop)
        tune_interpreter()
        with StatusServer(listening, lambda: render(worker.metrics.samples(), FAMILIES), hosts):
            await worker.run(lambda: announce(url_of(listening)))


def service_with_messages(name: str) -> ServiceDefinition:
    """Raises BadSettings."""
    lacks = "the service {name} takes no messages of a topic; those that do: {others}"
    return service_with(name, lambda definition: definition.takes_messages, lacks)


def rule_of(arguments: argparse.Namespace) -> FailureRule:
    """Raises BadSettings."""
    try:
        return failure_rule("worker", arguments.attempts, arguments.in_a_row, arguments.outages, arguments.poison)
    except DeclarationError as error:
        raise BadSettings(str(error)) from None


def kafka_settings(arguments: argparse.Namespace, service: str) -> KafkaSettings:
    return KafkaSettings(
        bootstrap=arguments.kafka,
        topic=arguments.topic,
        group=arguments.group or f"sortkey-{service}",
        dead_letters=arguments.dead_letters or f"{arguments.topic}{DEAD_LETTERS_SUFFIX}",
        properties={} if arguments.kafka_config is None else read_properties(arguments.kafka_config),
    )

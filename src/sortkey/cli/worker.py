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

from sortkey.cli.arguments import Commands
from sortkey.cli.config_file import settings_of
from sortkey.cli.db import DEFAULT_FOLDER, announce, print_error
from sortkey.client.store_url import parse
from sortkey.feeds.kafka_settings import DEAD_LETTERS_SUFFIX, KafkaSettings, KafkaUnusable, prepare, read_properties
from sortkey.feeds.metrics import FAMILIES
from sortkey.feeds.status_server import StatusServer
from sortkey.feeds.subscription import WorkerFailed
from sortkey.feeds.worker import Worker
from sortkey.http.listener import CannotListen, listen, url_of
from sortkey.http.process import tune_garbage_collector
from sortkey.http.prometheus import render
from sortkey.model.errors import ModelError
from sortkey.model.sessions.async_session import open_session
from sortkey.service_interface import BadSettings, ServiceDefinition
from sortkey.services.registry import SERVICES
from sortkey.storage import StorageError

START_SECONDS: Final = 10.0
"""For the broker to be found."""


def add_to(commands: Commands) -> None:
    command = commands.add_parser("worker", help="feed a service from a Kafka topic")
    command.add_argument("service", metavar="SERVICE", help=", ".join(sorted(SERVICES)) or "a service's name")
    command.add_argument("--kafka", metavar="BOOTSTRAP", required=True, help="HOST:PORT of a broker, or several with ,")
    command.add_argument("--topic", metavar="T", required=True, help="what to consume")
    command.add_argument("--group", metavar="G", help="workers of one group share the partitions (sortkey-SERVICE)")
    command.add_argument("--dead-letters", metavar="TOPIC", help="where rejected messages go (T.dead-letters)")
    command.add_argument("--kafka-config", metavar="FILE", type=Path, help="properties of librdkafka, name=value lines")
    command.add_argument("--store", metavar="URL", default=str(DEFAULT_FOLDER), help="where the data is (./data)")
    command.add_argument("--config", metavar="FILE", type=Path, help="the services' settings, in TOML")
    command.add_argument("--host", default="127.0.0.1", help="where /metrics and /health are served (%(default)s)")
    command.add_argument("--metrics-port", metavar="PORT", type=int, default=0, help="0 picks a free one (%(default)s)")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.WARNING)
    try:
        kind = service_named(arguments.service)
        settings = settings_of(arguments.config, kind.name)
        store = shared_store(arguments.store)
        kafka = kafka_settings(arguments)
        with listen(arguments.host, arguments.metrics_port) as listening:
            prepare(kafka, START_SECONDS)
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(work(kind, settings, kafka, store, listening))
    except (BadSettings, CannotListen, KafkaUnusable) as error:
        return print_error("worker", str(error))
    except (BotoCoreError, ClientError, ModelError, StorageError) as error:
        return print_error("worker", f"the store {arguments.store} cannot be used: {' '.join(str(error).split())}")
    except WorkerFailed as error:
        print_error("worker", str(error))
        return 1
    except KeyboardInterrupt:
        pass  # before anything was consumed
    return 0


async def work(
    kind: ServiceDefinition, settings: Mapping[str, Any], kafka: KafkaSettings, store: str, listening: socket.socket
) -> None:
    """Until a signal; then the batches under way are in the store, and committed."""
    async with open_session(store, tables=kind.tables(settings)) as session:
        service = kind.make(session, settings)
        await service.start()
        worker = Worker(kafka, service)
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, worker.stop)
        tune_garbage_collector()
        with StatusServer(listening, lambda: render(worker.metrics.samples(), FAMILIES)):
            await worker.run(lambda: announce(url_of(listening)))


def service_named(name: str) -> ServiceDefinition:
    kind = SERVICES.get(name)
    if kind is None:
        raise BadSettings(f"there is no service {name!r}; there are {', '.join(sorted(SERVICES))}")
    return kind


def kafka_settings(arguments: argparse.Namespace) -> KafkaSettings:
    return KafkaSettings(
        bootstrap=arguments.kafka,
        topic=arguments.topic,
        group=arguments.group or f"sortkey-{arguments.service}",
        dead_letters=arguments.dead_letters or f"{arguments.topic}{DEAD_LETTERS_SUFFIX}",
        properties={} if arguments.kafka_config is None else read_properties(arguments.kafka_config),
    )


def shared_store(url: str) -> str:
    """Where others can read what the worker writes: messages that went into its own memory would be lost."""
    try:
        store = parse(url)
    except ValueError as error:
        raise BadSettings(str(error)) from error
    if store.path is None and store.remote is None:
        raise BadSettings(
            f"--store {url} would be gone with the worker, and all messages with it; use a folder or a URL"
        )
    return url

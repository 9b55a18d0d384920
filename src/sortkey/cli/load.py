"""`sortkey load`: files into a service's tables."""

from __future__ import annotations

import argparse

from sortkey.cli import job
from sortkey.cli.arguments import Parser


def add_arguments(command: Parser) -> None:
    job.add_arguments(command)


def run(arguments: argparse.Namespace) -> int:
    return job.run("load", "load", lambda definition: definition.load, arguments)

"""`sortkey batch`: a service's batch job, which replaces all that the service serves at once."""

from __future__ import annotations

import argparse

from sortkey.cli import job
from sortkey.cli.arguments import Parser


def add_arguments(command: Parser) -> None:
    job.add_arguments(command)


def run(arguments: argparse.Namespace) -> int:
    return job.run("batch", "batch job", lambda definition: definition.batch, arguments)

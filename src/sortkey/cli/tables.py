"""`sortkey tables`: the tables that a module declares, for the tool that creates them.

    sortkey tables shop.models                            CreateTable and UpdateTimeToLive requests, as JSON
    sortkey tables shop.models --format cloudformation    a template
    sortkey tables shop.models --format terraform         resources of the AWS provider
    sortkey tables shop.models --format cdk               a stack in Python

`db.create_tables()` creates the same tables from a program.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, Final

from sortkey.cli.arguments import NoModule, Parser, import_user_module, print_error
from sortkey.model.errors import ModelError
from sortkey.model.items.item import Item
from sortkey.model.items.table import Table
from sortkey.model.tables import table_templates

FORMATS: Final[Mapping[str, Callable[[Sequence[Table]], str]]] = {
    "json": table_templates.requests,
    "cloudformation": table_templates.cloudformation,
    "terraform": table_templates.terraform,
    "cdk": table_templates.cdk,
}


def add_arguments(command: Parser) -> None:
    command.add_argument("module", metavar="MODULE", help="a module that declares items, for example shop.models")
    command.add_argument("--format", choices=list(FORMATS), default="json", help="what to print (json)")


def run(arguments: argparse.Namespace) -> int:
    try:
        tables = tables_in(import_user_module(arguments.module))
    except (NoModule, ModelError) as error:
        return print_error("tables", str(error))
    if not tables:
        return print_error("tables", f"module {arguments.module!r} has no class with a table")
    try:
        text = FORMATS[arguments.format](tables)
    except ModelError as error:
        return print_error("tables", str(error))
    sys.stdout.write(text)
    return 0


def tables_in(module: ModuleType) -> list[Table]:
    """The tables of the classes that the module has, in their order, and those that it makes itself."""
    found = [table for value in vars(module).values() if (table := _table_of(value)) is not None]
    return [table for table in dict.fromkeys(found) if table.schemas]


def _table_of(value: Any) -> Table | None:
    if isinstance(value, type) and issubclass(value, Item):
        return getattr(value, "__table__", None)
    return value if isinstance(value, Table) else None

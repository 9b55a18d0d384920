"""`sortkey regions`: what the emulated regions of a running `sortkey db --regions` do.

sortkey regions show
sortkey regions cut eu-west-1 us-east-1      the link between two regions
sortkey regions cut eu-west-1                all links of a region
sortkey regions heal                         all links; or that of two regions, or those of one
sortkey regions lag 0.5                      seconds
sortkey regions settle                       wait until everything has arrived, but over cut links
"""

from __future__ import annotations

import argparse
import http.client
import json
import sys
import urllib.error
import urllib.request
from typing import Any, Final

from sortkey.cli.arguments import Parser, print_error

SECONDS: Final = 300.0


def add_arguments(command: Parser) -> None:
    command.add_argument("action", choices=("show", "cut", "heal", "lag", "settle"))
    command.add_argument("values", metavar="REGION", nargs="*", help="regions; of lag, the seconds")
    command.add_argument(
        "--endpoint", metavar="URL", default="http://127.0.0.1:8000", help="the address of a region (%(default)s)"
    )


def run(arguments: argparse.Namespace) -> int:
    order: dict[str, Any] | None = {}
    values: list[str] = arguments.values
    match arguments.action:
        case "cut" | "heal":
            order = {arguments.action: values}
        case "lag":
            try:
                (seconds,) = values
                order = {"lag": float(seconds)}
                json.dumps(order, allow_nan=False)
            except ValueError:
                return print_error("regions", "lag takes a number of seconds: sortkey regions lag 0.5")
        case _ if values:
            return print_error("regions", f"{arguments.action} takes no regions")
        case "settle":
            order = {"settle": True}
        case _:
            order = None
    body = None if order is None else json.dumps(order).encode()
    try:
        request = urllib.request.Request(f"{arguments.endpoint.rstrip('/')}/regions", body)
    except ValueError:
        return print_error("regions", f"{arguments.endpoint!r} is not an endpoint, such as http://127.0.0.1:8000")
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            state = json.load(answer)
    except urllib.error.HTTPError as error:
        return print_error("regions", _told(error, arguments.endpoint))
    except (OSError, ValueError, http.client.HTTPException) as error:
        return print_error("regions", f"{arguments.endpoint} does not answer: {error}")
    _print(state)
    return 0


def _told(error: urllib.error.HTTPError, endpoint: str) -> str:
    try:
        with error:
            return str(json.load(error)["error"])
    except (ValueError, KeyError, TypeError):
        return f"{endpoint} emulates no regions: start it by sortkey db --regions eu-west-1,us-east-1"


def _print(state: dict[str, Any]) -> None:
    lines = [f"{region}  {state['endpoints'][region]}" for region in state["regions"]]
    lines.append(f"lag  {state['lag']:g} s")
    lines += [f"cut  {one} and {other}" for one, other in state["cut"]]
    lines += [f"waiting  {way}  {number:,}" for way, number in state["waiting"].items()]
    sys.stdout.write("\n".join(lines) + "\n")

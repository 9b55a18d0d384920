"""Whether the command lines that a deployment has are ones that `sortkey` takes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from sortkey.cli.main import parser
from sortkey.cli.services import registered_names

VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?(?::\?[^}]*)?\}|\$\((\w+)\)")
VALUES = {"METRICS_PORT": "9100", "BACKUP_KEEP": "96", "BACKUP_PLACE": "s3://bucket/prefix", "PLACE": "s3://bucket/p"}


def parsed(command: Sequence[str]) -> str:
    """The command's name. Fails as the program would."""
    name = command[0]
    arguments, unknown = parser(name).parse_known_args(list(command))
    assert unknown == []
    services = getattr(arguments, "service", None)
    for service in [services] if isinstance(services, str) else services or []:
        assert service in registered_names()
    return name


def filled(text: str) -> str:
    """A text with values for its variables: of a shell, of systemd, of Compose, or of Kubernetes."""
    return VARIABLE.sub(lambda found: VALUES.get(found[1] or found[3], found[2] or "x"), text)


def parsed_text(text: str) -> str:
    return parsed(shlex.split(filled(text)))

"""`sortkey`, with the notes as its only service."""

from __future__ import annotations

import sys
from typing import Any, cast

from sortkey.cli.main import main
from sortkey_services.registry import SERVICES
from tests.server.notes import DEFINITION

if __name__ == "__main__":
    services = cast(dict[str, Any], SERVICES)
    services.clear()
    services[DEFINITION.name] = DEFINITION
    sys.exit(main())

"""`sortkey`, with the notes as its only service."""

from __future__ import annotations

import sys
from typing import Any, cast

from sortkey.cli.main import main
from sortkey.services.registry import SERVICES
from tests.server.notes import KIND

if __name__ == "__main__":
    kinds = cast(dict[str, Any], SERVICES)
    kinds.clear()
    kinds[KIND.name] = KIND
    sys.exit(main())

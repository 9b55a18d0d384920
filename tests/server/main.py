"""`sortkey`, with the notes as its only service."""

from __future__ import annotations

import sys

from sortkey.cli.main import main
from tests.registered import register_only

if __name__ == "__main__":
    register_only(notes="tests.server.notes:DEFINITION")
    sys.exit(main())

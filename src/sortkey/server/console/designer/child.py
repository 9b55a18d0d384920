"""The designer's process: a request on standard input, its answer on standard output."""

from __future__ import annotations

import resource
import sys
from typing import Final

import msgspec

from sortkey.server.console.designer.design import DesignRequest, design

CPU_SECONDS: Final = 5
MEMORY_BYTES: Final = 1024 * 1024 * 1024


def main() -> None:
    # After the imports, which are ours. It opens no files, and starts nothing.
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    wanted = msgspec.json.decode(sys.stdin.buffer.read(), type=DesignRequest)
    sys.stdout.buffer.write(msgspec.json.encode(design(wanted)))


if __name__ == "__main__":
    main()

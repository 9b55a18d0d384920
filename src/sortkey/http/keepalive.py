"""TCP's keep-alive probes: they detect within two minutes that a peer has vanished."""

from __future__ import annotations

import socket
import sys
from typing import Final

if sys.platform == "darwin":
    IDLE: Final = socket.TCP_KEEPALIVE
else:
    IDLE: Final = socket.TCP_KEEPIDLE

OPTIONS: Final = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, IDLE, 60),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 15),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 4),
)


def keep_alive(connected: socket.socket | None) -> None:
    """Switch the probes on. A socket that is not TCP needs none."""
    if connected is not None and connected.family in (socket.AF_INET, socket.AF_INET6):
        for option in OPTIONS:
            connected.setsockopt(*option)

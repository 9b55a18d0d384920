"""The socket that a server listens on."""

from __future__ import annotations

import ipaddress
import socket


class CannotListen(Exception):
    """The address cannot be used; the message says why."""


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the host: all of its addresses are loopback addresses."""
    return all(ipaddress.ip_address(address.partition("%")[0]).is_loopback for _, address in _addresses(host))


def listen(host: str, port: int, shared: bool = False) -> socket.socket:
    """A bound socket. Several workers may bind the same port if each of them passes `shared`."""
    family, address = _addresses(host)[0]
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listening.bind((address, port))
        if not shared:
            listening.listen()
    except (OSError, OverflowError) as error:
        listening.close()
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise CannotListen(f"cannot listen on {host}:{port}: {reason}") from error
    return listening


def url_of(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _addresses(host: str) -> list[tuple[socket.AddressFamily, str]]:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise CannotListen(f"cannot resolve the host {host}: {error.strerror}") from error
    # IPv4 first: where `localhost` has both, every machine has IPv4, and clients try it too.
    return sorted((family, str(address[0])) for family, _, _, _, address in found)

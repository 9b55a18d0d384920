"""Where a server listens, and the names by which it may be addressed."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterable
from errno import EADDRINUSE
from typing import Final


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
        if isinstance(error, OSError) and error.errno == EADDRINUSE:
            reason = f"{reason}; choose another port"
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


LOCALHOST: Final = "localhost"
REMEMBERED: Final = 1000
SHOWN_CHARACTERS: Final = 100

_HOST: Final = re.compile(r"(?:\[(?P<ipv6>[0-9a-f:.]+)\]|(?P<name>[^\s:/?#@\[\]]+?)\.?)(?::[0-9]*)?", re.ASCII)


class AllowedHosts:
    """The names by which a server without tokens or keys may be addressed.

    Such a server trusts every program of its machine, and a browser is one of them: it runs pages of any site. It gives
    a page the answers of the page's own origin only. But the owner of a site can let its name lead to 127.0.0.1 after
    the page was loaded (DNS rebinding); then the page and the server have one origin. The request's `Host` still has
    the site's name. So only names that no site can have are served, and those that the operator allows.

    Names of this machine, which are always allowed, and further ones.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names = frozenset(name.lower().removesuffix(".") for name in names)
        self.admitted: set[bytes] = set()
        """Values of `Host` that were admitted before; at most `REMEMBERED`."""

    def admits(self, host: bytes) -> bool:
        return host in self.admitted or self._examine(host)

    def _examine(self, host: bytes) -> bool:
        found = _HOST.fullmatch(host.decode("latin-1").lower())
        if found is None:
            return False
        name = found["ipv6"] or found["name"]
        admitted = name in self._names or _is_local(name)
        if admitted and len(self.admitted) < REMEMBERED:
            self.admitted.add(host)
        return admitted


def rejection(host: bytes, credentials: str = "") -> str:
    """The message for a host that is not admitted; `credentials` is the option with which every host would be."""
    shown = host[:SHOWN_CHARACTERS].decode("latin-1")
    otherwise = f", or with {credentials}" if credentials else ""
    return f"{shown!r} is not a name of this machine. Start the server with --allow-host NAME to allow it{otherwise}."


def _is_local(name: str) -> bool:
    """`localhost`, names below it (RFC 6761 reserves them all), and loopback addresses."""
    if name == LOCALHOST or name.endswith(f".{LOCALHOST}"):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback

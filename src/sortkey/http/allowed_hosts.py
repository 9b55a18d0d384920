"""The names by which a server without tokens or keys may be addressed.

Such a server trusts every program of its machine, and a browser is one of them: it runs pages of any site. It gives a
page the answers of the page's own origin only. But the owner of a site can let its name lead to 127.0.0.1 after the
page was loaded (DNS rebinding); then the page and the server have one origin. The request's `Host` still has the site's
name. So only names that no site can have are served, and those that the operator allows.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import Final

LOCALHOST: Final = "localhost"
REMEMBERED: Final = 1000
SHOWN_CHARACTERS: Final = 100

_HOST: Final = re.compile(r"(?:\[(?P<ipv6>[0-9a-f:.]+)\]|(?P<name>[^\s:/?#@\[\]]+?)\.?)(?::[0-9]*)?", re.ASCII)


class AllowedHosts:
    """Names of this machine, which are always allowed, and further ones."""

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

"""The scope that a token needs for a route."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

SERVICE: Final = "service"
"""The route option that holds the service's name; the app sets it for all routes of a service."""
SCOPE: Final = "scope"
OPEN: Final = "open"
"""The scope of routes that need no token: pages and scripts, which a browser requests without one."""
_READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})


def scope_of(options: Mapping[str, Any], method: str) -> str | None:
    """Such as `boosts:read`; None if no token is needed."""
    right = options.get(SCOPE) or ("read" if method in _READING else "write")
    return None if right == OPEN else f"{options[SERVICE]}:{right}"

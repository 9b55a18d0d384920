"""The scope that a token needs for a route."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

SERVICE: Final = "service"
"""The route option that holds the service's name; the app sets it for all routes of a service."""
SCOPE: Final = "scope"
_READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})


def scope_of(options: Mapping[str, Any], method: str) -> str:
    """Such as `boosts:read`."""
    right = options.get(SCOPE) or ("read" if method in _READING else "write")
    return f"{options[SERVICE]}:{right}"

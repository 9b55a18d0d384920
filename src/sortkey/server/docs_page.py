"""The page at /docs: shows the routes of /openapi.json and sends requests to them. Loads nothing from other hosts."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

PAGE: Final = files("sortkey.server").joinpath("docs.html").read_bytes()
POLICY: Final = "default-src 'self'; img-src data:; script-src 'unsafe-inline'; style-src 'unsafe-inline'"
"""Has the browser enforce that, too."""

"""The page at /docs: reads /openapi.json, shows every route, and lets you try it. Loads nothing from elsewhere."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

PAGE: Final = files("sortkey.server").joinpath("docs.html").read_bytes()
POLICY: Final = "default-src 'self'; img-src data:; script-src 'unsafe-inline'; style-src 'unsafe-inline'"
"""So that the browser, too, does not load anything from elsewhere."""

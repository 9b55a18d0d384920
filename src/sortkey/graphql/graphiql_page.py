"""GraphiQL, served from the package: its page loads nothing from other hosts. `tools/graphiql.sh` fetches its files."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Final

import sortkey as sk

_FOLDER: Final = files("sortkey.graphql").joinpath("graphiql")
_TYPES: Final[Mapping[str, str]] = {
    "graphiql.min.css": "text/css",
    "graphiql.min.js": "text/javascript",
    "page.js": "text/javascript",
    "react-dom.production.min.js": "text/javascript",
    "react.production.min.js": "text/javascript",
}

POLICY: Final = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; font-src data:; img-src 'self' data:; frame-ancestors 'none'"
)
"""Has the browser enforce that nothing comes from other hosts, and that no other site can show the page as its own."""


def page() -> bytes:
    return _FOLDER.joinpath("page.html").read_bytes()


def page_file(name: str) -> tuple[bytes, str]:
    """A file of the page, and its content type. Raises NotFound."""
    content_type = _TYPES.get(name)
    if content_type is None:
        raise sk.services.NotFound(f"GraphiQL has no file {name!r}")
    return _FOLDER.joinpath(name).read_bytes(), content_type

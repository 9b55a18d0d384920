"""A document as text: measured before it is parsed, since the parser's own work is not bounded."""

from __future__ import annotations

import re
from typing import Final

from sortkey.graphql.errors import refused
from sortkey.graphql.limits import Limits

SIZE_LIMIT: Final = "SIZE_LIMIT"
DEPTH_LIMIT: Final = "DEPTH_LIMIT"

_TOKEN: Final = re.compile(
    # Also half a string is one token: the search for its end is not made again.
    r'"""(?:[^"\\]|\\"""|\\|"(?!""))*(?:""")?'
    r'|"(?:[^"\\\n\r]|\\.)*"?'
    r"|\#[^\n\r]*"
    r"|\.\.\.|[A-Za-z0-9_.+-]+"
    r"|[^\s,]"
)


def check_text(text: str, limits: Limits) -> None:
    """Raises Refused for a text that is too large or nested too deeply."""
    if len(text.encode("utf-8", "surrogatepass")) > limits.document_bytes:
        raise refused(SIZE_LIMIT, f"The document is too large: at most {limits.document_bytes:,} bytes; use variables.")
    nesting = 0
    for number, token in enumerate(_TOKEN.finditer(text), 1):
        if number > limits.tokens:
            raise refused(SIZE_LIMIT, f"The document is too large: at most {limits.tokens:,} tokens.")
        sign = token[0]
        if sign in "{[(":
            nesting += 1
            if nesting > limits.nesting:
                raise refused(DEPTH_LIMIT, f"The document is nested too deeply: at most {limits.nesting} levels.")
        elif sign in "}])":
            nesting -= 1

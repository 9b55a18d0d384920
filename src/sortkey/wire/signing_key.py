"""The key of an AWS Signature Version 4: derived by the endpoint that verifies and by the client that signs."""

from __future__ import annotations

import hmac
from functools import lru_cache
from typing import Final

ALGORITHM: Final = "AWS4-HMAC-SHA256"
TERMINATOR: Final = "aws4_request"
DATE_FORMAT: Final = "%Y%m%dT%H%M%SZ"


@lru_cache(maxsize=1024)
def signing_key(secret: str, day: str, region: str, service: str) -> bytes:
    key = b"AWS4" + secret.encode()
    for part in (day, region, service, TERMINATOR):
        key = hmac.digest(key, part.encode(), "sha256")
    return key

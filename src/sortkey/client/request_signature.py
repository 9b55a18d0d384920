"""The SigV4 signature of a request to DynamoDB, whose requests all have one form.

botocore's signer handles any request of any service, and takes ten times as long. The tests compare both.
"""

from __future__ import annotations

import hmac
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

from sortkey.wire.signing_key import ALGORITHM, TERMINATOR, signing_key

_DEFAULT_PORTS = {"http": 80, "https": 443}


def host_of(url: str) -> str:
    """The Host header of a URL: without a default port."""
    parts = urlsplit(url)
    if parts.port is None or parts.port != _DEFAULT_PORTS.get(parts.scheme):
        return parts.netloc
    return parts.netloc.rpartition(":")[0]


def signed(
    headers: dict[str, str], body: bytes, credentials: Any, region: str, service: str, time: str
) -> dict[str, str]:
    """The headers with a signature over all of them; takes botocore's frozen credentials, and a time as in
    `X-Amz-Date`."""
    made = {**headers, "X-Amz-Date": time}
    if credentials.token:
        made["X-Amz-Security-Token"] = credentials.token
    lines = sorted((name.lower(), value) for name, value in made.items())
    names = ";".join([name for name, _ in lines])
    content = "".join([f"{name}:{value}\n" for name, value in lines])
    canonical = f"POST\n/\n\n{content}\n{names}\n{sha256(body).hexdigest()}"
    scope = f"{time[:8]}/{region}/{service}/{TERMINATOR}"
    text = f"{ALGORITHM}\n{time}\n{scope}\n{sha256(canonical.encode()).hexdigest()}"
    key = signing_key(credentials.secret_key, time[:8], region, service)
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    made["Authorization"] = (
        f"{ALGORITHM} Credential={credentials.access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    return made

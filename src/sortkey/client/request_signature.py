"""The signature of a request to an endpoint: SigV4, of the one form that all of DynamoDB's requests have.

botocore's signer takes any request of any service, and ten times as long. What it makes of these is the measure.
"""

from __future__ import annotations

import hmac
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

from sortkey.wire.signing_key import ALGORITHM, TERMINATOR, signing_key

_DEFAULT_PORTS = {"http": 80, "https": 443}


def host_of(url: str) -> str:
    """As the Host header has it: without a port that goes without saying."""
    parts = urlsplit(url)
    if parts.port is None or parts.port != _DEFAULT_PORTS.get(parts.scheme):
        return parts.netloc
    return parts.netloc.rpartition(":")[0]


def signed(
    headers: dict[str, str], body: bytes, credentials: Any, region: str, service: str, moment: str
) -> dict[str, str]:
    """The headers with a signature of them all, by botocore's frozen credentials; `moment` is as in `X-Amz-Date`."""
    made = {**headers, "X-Amz-Date": moment}
    if credentials.token:
        made["X-Amz-Security-Token"] = credentials.token
    lines = sorted((name.lower(), value) for name, value in made.items())
    names = ";".join([name for name, _ in lines])
    content = "".join([f"{name}:{value}\n" for name, value in lines])
    canonical = f"POST\n/\n\n{content}\n{names}\n{sha256(body).hexdigest()}"
    scope = f"{moment[:8]}/{region}/{service}/{TERMINATOR}"
    text = f"{ALGORITHM}\n{moment}\n{scope}\n{sha256(canonical.encode()).hexdigest()}"
    key = signing_key(credentials.secret_key, moment[:8], region, service)
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    made["Authorization"] = (
        f"{ALGORITHM} Credential={credentials.access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    return made

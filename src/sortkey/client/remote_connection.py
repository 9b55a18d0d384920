"""How a remote store is reached: region, credentials, retries."""

from __future__ import annotations

from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from botocore.session import Session

from sortkey.client.capabilities import AWS, STORES, Capabilities
from sortkey.client.store_url import Remote

_CONNECTIONS: Final = 64
"""A lookup sends its chunks side by side, each on a connection of its own."""
STREAM_POLL_SECONDS: Final = 0.5
"""AWS takes five reads a second of a shard, from all its readers."""

_DEFAULT_REGION: Final = "us-east-1"
_NOBODY: Final = "sortkey"
"""Endpoints without keys want a signature nevertheless, anybody's."""
_FROM_THE_HOST: Final = ("container-role", "iam-role")
"""Where botocore asks the machine's network for credentials: seconds, on a machine that has none."""


class Connection(NamedTuple):
    arguments: dict[str, Any]
    """Of botocore's and aiobotocore's `create_client`, the configuration aside."""
    capabilities: Capabilities | None
    """None where the endpoint must be asked."""

    @property
    def region(self) -> str:
        region: str = self.arguments["region_name"]
        return region


def configuration(session: Any) -> dict[str, Any]:
    """Of the clients that a session of botocore or aiobotocore makes."""
    return {
        "retries": {"mode": "standard"},
        "max_pool_connections": _CONNECTIONS,
        # The same text for all requests; botocore would put it together anew for each of them, twice.
        "user_agent": session.user_agent(),
    }


def connection(remote: Remote) -> Connection:
    known = STORES.get(remote.store or "")
    if remote.endpoint is None:
        return Connection({"region_name": remote.region}, known or AWS)
    session = Session()
    arguments = {
        "endpoint_url": remote.endpoint,
        "region_name": session.get_config_variable("region") or _DEFAULT_REGION,
    }
    host = urlsplit(remote.endpoint).hostname or ""
    if host.endswith((".amazonaws.com", ".amazonaws.com.cn", ".api.aws")):
        return Connection(arguments, known or AWS)
    if not _has_credentials(session):
        arguments |= {"aws_access_key_id": _NOBODY, "aws_secret_access_key": _NOBODY}
    return Connection(arguments, known)


def _has_credentials(session: Session) -> bool:
    resolver = session.get_component("credential_provider")
    for provider in _FROM_THE_HOST:
        resolver.remove(provider)
    return resolver.load_credentials() is not None

"""Which store a program means: its URL, the access to AWS that it gives, and what such a store can do.

./data   /var/lib/shop   file:./data   file:///var/lib/shop      a data folder, created if missing
memory:                                                          memory only, gone at close
memory:NAME                                                      the same, shared by all clients of the process
http://HOST:PORT   https://HOST:PORT                             any endpoint with DynamoDB's protocol
dynamodb://REGION                                                AWS, with its usual credential chain

Options follow a question mark: `?prefix=dev-` is put before every table name; `?in_flight=64` is how many reads, and
how many writes, a session may have in flight at an endpoint or AWS; `?store=alternator` names the product behind an
endpoint that does not identify itself. An endpoint that does is known by the `Server` header of its answers, AWS by its
address: a program that needs more than its store can do fails when it opens the store, not at its first request.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import msgspec


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a store can do."""

    store: str
    """Its name, for messages."""
    transactions: bool = True
    """TransactGetItems and TransactWriteItems."""
    consumed_capacity: bool = True
    """Whether answers have the consumed capacity when asked for."""
    streams: bool = True
    ttl: bool = True
    index_projections: bool = True
    """Whether an index may have fewer attributes than all. In other stores, indexes are created with all."""
    multi_attribute_index_keys: bool = False
    """Whether an index key may have several attributes, not joined into one."""
    ties_by_hash: bool = False
    """Whether a global index orders rows with equal keys by `values.key_bytes.row_hash`."""
    vectors: bool = True
    """Whether a table may have vector indexes."""
    recovery: bool = True
    """Whether the store has point-in-time recovery. In others, a table is created without."""
    regions: bool = True
    """Whether the store has regions, and so replicas. In others, a table is created without."""
    fences: bool = False
    """Whether the store itself refuses writes to a table with a fence. For others, clients look at `sortkey-fences`."""


EMBEDDED: Final = Capabilities(
    "the embedded engine", multi_attribute_index_keys=True, ties_by_hash=True, regions=False, fences=True
)
EMBEDDED_REGIONS: Final = replace(EMBEDDED, store="the embedded engine with regions", regions=True)
SORTKEY: Final = Capabilities(
    "a Sortkey endpoint", multi_attribute_index_keys=True, ties_by_hash=True, regions=False, fences=True
)
SORTKEY_REGIONS: Final = replace(SORTKEY, store="a Sortkey endpoint with regions", regions=True)
AWS: Final = Capabilities("DynamoDB", multi_attribute_index_keys=True)
DYNAMODB_LOCAL: Final = Capabilities("DynamoDB Local", vectors=False, recovery=False, regions=False)
ALTERNATOR: Final = Capabilities(
    "ScyllaDB Alternator",
    transactions=False,
    consumed_capacity=False,
    index_projections=False,
    vectors=False,
    recovery=False,
    regions=False,
)
UNKNOWN: Final = Capabilities("an unknown endpoint")
"""Assumed to be compatible."""

STORES: Final[Mapping[str, Capabilities]] = {
    "aws": AWS,
    "alternator": ALTERNATOR,
    "dynamodb-local": DYNAMODB_LOCAL,
    "sortkey": SORTKEY,
}
"""By name in a URL's `?store=`."""

# The first that fits.
_BY_SERVER: Final = {
    "sortkey (regions)": SORTKEY_REGIONS,
    "sortkey": SORTKEY,
    "jetty": DYNAMODB_LOCAL,
    "seastar": ALTERNATOR,
    "scylladb": ALTERNATOR,
}


def capabilities_of(answer: Mapping[str, Any]) -> Capabilities:
    """The capabilities of the endpoint that sent this answer."""
    server = answer["ResponseMetadata"]["HTTPHeaders"].get("server", "").lower()
    return next((found for name, found in _BY_SERVER.items() if name in server), UNKNOWN)


IN_FLIGHT: Final = 32
"""Reads, and writes, that a session has in flight at once at a store behind a network, by default."""
MOST_IN_FLIGHT: Final = 1024

# At least two letters, so that C:\data is a path.
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(.*)", re.DOTALL)
_SCHEMES: Final = frozenset({"file", "memory", "http", "https", "dynamodb"})
_REGION: Final = re.compile(r"[a-z]{2,}(-[a-z0-9]+)+")
_TABLE_NAME: Final = re.compile(r"[A-Za-z0-9_.-]+")
_WHAT_WORKS: Final = (
    "use a folder's path, 'file:PATH', 'memory:', 'memory:NAME', 'http://HOST:PORT', 'https://HOST:PORT' or "
    "'dynamodb://REGION'"
)


class Remote(msgspec.Struct, frozen=True):
    """An endpoint, or AWS in a region."""

    endpoint: str | None
    region: str | None
    store: str | None
    """The product behind the endpoint, one of `STORES`."""
    in_flight: int = IN_FLIGHT


class StoreAddress(msgspec.Struct, frozen=True):
    """Where a client's data is: at an endpoint, in a folder, or in memory when both `remote` and `path` are None; then
    `name` is what clients share it by, or empty."""

    url: str
    path: Path | None
    remote: Remote | None = None
    prefix: str = ""
    name: str = ""
    buckets: Path | None = None
    """The folder in the place of S3, for exports and imports of a store in the process."""

    def require_existing(self) -> None:
        """Raises ValueError if it is a folder without data: opening it would create a store."""
        if self.path is not None and not (self.path / "data.mdb").is_file():
            raise ValueError(f"there is no store in {self.path}; sortkey serve and sortkey db create one")


def parse(url: str | os.PathLike[str]) -> StoreAddress:
    """The store that a URL or a path names. Raises ValueError for anything else. Opens nothing."""
    if not isinstance(url, str):
        path = Path(url)
        return StoreAddress(str(path), path)
    address, _, query = url.partition("?")
    matched = _SCHEME.fullmatch(address)
    scheme, rest = (matched[1].lower(), matched[2]) if matched else ("file", address)
    if scheme not in _SCHEMES:
        raise ValueError(f"{url!r} has the unknown scheme {scheme!r}: {_WHAT_WORKS} (a path with a colon: './{url}')")
    options = _options(url, query)
    prefix = _prefix(url, options)
    if scheme == "memory":
        if rest and not _TABLE_NAME.fullmatch(rest):
            raise ValueError(f"{url!r}: the name of a store in memory has only letters, digits, '_', '-' and '.'")
        return StoreAddress(url, None, None, prefix, rest, _buckets(url, options))
    if scheme == "file":
        return StoreAddress(url, _folder(url, rest), None, prefix, buckets=_buckets(url, options))
    endpoint, region = _region(url, rest) if scheme == "dynamodb" else _endpoint(url, address)
    return StoreAddress(url, None, Remote(endpoint, region, _store(url, options), _in_flight(url, options)), prefix)


def _options(url: str, query: str) -> dict[str, str]:
    try:
        options = dict(parse_qsl(query, keep_blank_values=True, strict_parsing=True)) if query else {}
    except ValueError:
        raise ValueError(f"{url!r}: the options after '?' are not NAME=VALUE, joined by '&'") from None
    scheme = url.partition(":")[0].lower()
    known = {"prefix"}
    if scheme in {"http", "https"}:
        known |= {"store", "in_flight"}
    else:
        known.add("in_flight" if scheme == "dynamodb" else "buckets")
    for name in options.keys() - known:
        raise ValueError(f"{url!r} has the unknown option {name!r}: known are {', '.join(sorted(known))}")
    return options


def _prefix(url: str, options: dict[str, str]) -> str:
    prefix = options.get("prefix", "")
    if prefix and not _TABLE_NAME.fullmatch(prefix):
        raise ValueError(f"{url!r}: a table name prefix has only letters, digits, '_', '-' and '.'")
    return prefix


def _buckets(url: str, options: dict[str, str]) -> Path | None:
    buckets = options.get("buckets")
    if buckets == "":
        raise ValueError(f"{url!r}: buckets names no folder")
    return None if buckets is None else Path(buckets)


def _store(url: str, options: dict[str, str]) -> str | None:
    store = options.get("store")
    if store is not None and store not in STORES:
        raise ValueError(f"{url!r}: store must be one of {', '.join(STORES)}")
    return store


def _in_flight(url: str, options: dict[str, str]) -> int:
    text = options.get("in_flight", str(IN_FLIGHT))
    if not (text.isascii() and text.isdecimal() and 1 <= int(text[:5]) <= MOST_IN_FLIGHT):
        raise ValueError(f"{url!r}: in_flight is a number of requests, from 1 to {MOST_IN_FLIGHT}, not {text!r}")
    return int(text)


def _folder(url: str, rest: str) -> Path:
    if rest.startswith("//"):
        if not rest.startswith("///"):
            raise ValueError(f"{url!r} names a host: a file URL is 'file:PATH' or 'file:///PATH'")
        rest = rest[2:]
    if not rest or "\0" in rest:
        raise ValueError(f"{url!r} does not name a folder: {_WHAT_WORKS}")
    return Path(rest)


def _endpoint(url: str, address: str) -> tuple[str, None]:
    try:
        parts = urlsplit(address)
        host = parts.hostname
        _ = parts.port  # parsed on access only
    except ValueError as error:
        raise ValueError(f"{url!r} is not an endpoint: {error}") from None
    if not host or parts.username is not None or parts.fragment or any(map(str.isspace, address)):
        raise ValueError(f"{url!r} is not an endpoint: use 'http://HOST:PORT', with credentials from the environment")
    return address, None


def _region(url: str, rest: str) -> tuple[None, str]:
    region = rest.removeprefix("//").removesuffix("/")
    if not rest.startswith("//") or not _REGION.fullmatch(region):
        raise ValueError(f"{url!r} does not name an AWS region: use 'dynamodb://REGION', such as dynamodb://eu-west-1")
    return None, region


class AwsAccess(NamedTuple):
    """A session or a configuration of the program's own: assumed roles, profiles, retries, proxies, tracing.

    sk.connect("dynamodb://eu-west-1", session=boto3.Session(profile_name="shop"), config=Config(read_timeout=2))
    """

    session: Any = None
    """A session of boto3 or botocore, for async use one of aioboto3 or aiobotocore; None for one of our own."""
    config: Any = None
    """A botocore Config, which goes before ours."""

    def reject_in_process(self, url: str) -> None:
        """Raises ValueError if a store that needs no AWS is given any of it."""
        if self.session is not None or self.config is not None:
            raise ValueError(f"{url!r} is a store in the process; session and config are for endpoints and for AWS")


DEFAULT_ACCESS: Final = AwsAccess()

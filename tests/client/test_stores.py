"""What names a store, and what does not."""

from __future__ import annotations

from pathlib import Path

import pytest

import sortkey as sk
from sortkey.client.stores import Remote, parse


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("data", "data"),
        ("./data", "./data"),
        ("/var/lib/shop", "/var/lib/shop"),
        ("./a:b", "./a:b"),
        ("C:\\data", "C:\\data"),
        ("file:data", "data"),
        ("file:/var/lib/shop", "/var/lib/shop"),
        ("file:///var/lib/shop", "/var/lib/shop"),
        ("FILE:data", "data"),
        ("file:with space%20", "with space%20"),
    ],
)
def test_a_path_names_a_folder(url: str, path: str) -> None:
    assert parse(url).path == Path(path)


# A Path is never read as a URL, so any folder can be named.
def test_path_objects_are_taken_as_they_are() -> None:
    assert parse(Path("http:")).path == Path("http:")
    assert parse(Path("a?prefix=b")).path == Path("a?prefix=b")


def test_memory_has_no_path() -> None:
    assert parse("memory:").path is None
    assert (parse("memory:").name, parse("memory:test1").name, parse("MEMORY:test1?prefix=a-").name) == (
        "",
        "test1",
        "test1",
    )


def test_endpoints_and_regions_are_remote() -> None:
    assert parse("http://localhost:8000").remote == Remote("http://localhost:8000", None, None)
    assert parse("https://h?store=alternator&prefix=a").remote == Remote("https://h", None, "alternator")
    assert parse("dynamodb://eu-west-1").remote == Remote(None, "eu-west-1", None)


@pytest.mark.parametrize(
    "url", ["./data?prefix=dev-", "file:d?prefix=dev-", "memory:?prefix=dev-", "dynamodb://eu-west-1?prefix=dev-"]
)
def test_a_prefix_goes_with_every_store(url: str) -> None:
    assert parse(url).prefix == "dev-"


@pytest.mark.parametrize(
    "url", ["http://h?in_flight=64", "https://h?prefix=a&in_flight=64", "dynamodb://eu-west-1?in_flight=64"]
)
def test_a_limit_goes_with_remote_stores(url: str) -> None:
    remote = parse(url).remote
    assert remote is not None
    assert remote.in_flight == 64


@pytest.mark.parametrize("number", ["0", "-1", "1025", "many", "", "99999999999"])
def test_a_limit_is_a_number_of_requests(number: str) -> None:
    with pytest.raises(ValueError, match="in_flight is a number of requests, from 1 to 1024"):
        parse(f"http://h?in_flight={number}")


@pytest.mark.parametrize("url", ["./data?buckets=b", "file:d?buckets=b", "memory:?prefix=a&buckets=b"])
def test_buckets_are_those_of_a_store_in_the_process(url: str) -> None:
    assert parse(url).buckets == Path("b")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http:", "is not an endpoint"),
        ("http://", "is not an endpoint"),
        ("http://host:port", "is not an endpoint"),
        ("http://key:secret@host:8000", "credentials from the environment"),
        ("dynamodb:eu-west-1", "does not name an AWS region"),
        ("dynamodb://", "does not name an AWS region"),
        ("dynamodb://localhost:8000", "does not name an AWS region"),
        ("./data?prefix", "NAME=VALUE"),
        ("./data?buckets=", "names no folder"),
        ("http://h?buckets=b", "unknown option 'buckets'"),
        ("./data?prefix=a b", "letters, digits"),
        ("memory:?store=aws", "unknown option 'store'"),
        ("http://host?store=redis", "store must be one of aws, alternator"),
        ("http://host?region=eu-west-1", "unknown option 'region'"),
        ("memory:../shop", "the name of a store in memory has only letters"),
        ("memory://shop", "the name of a store in memory has only letters"),
        ("redis://localhost", "unknown scheme 'redis'"),
        ("file://host/data", "names a host"),
        ("file:", "does not name a folder"),
        ("", "does not name a folder"),
        ("a\0b", "does not name a folder"),
    ],
)
def test_anything_else_is_rejected_by_name(url: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as error:
        sk.client(url)
    assert repr(url) in str(error.value)

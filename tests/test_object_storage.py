"""Files on object storage: what is listed, what is copied, and what each error says."""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sortkey import object_storage
from sortkey.object_storage import (
    Address,
    ObjectError,
    ObjectFile,
    ObjectStorage,
    StoredObject,
    copied,
    fingerprint,
    parse_source,
)
from tests.maven import free_port
from tests.object_storage import Answer, Bucket, Request, rejected


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder in which nothing may be left."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(object_storage, "_FIRST_WAIT", 0.0)
    return folder


async def contents(source: Address) -> dict[str, bytes]:
    """By their keys."""
    storage = ObjectStorage()
    objects = storage.files(source.folder)
    async with copied(storage, source, objects) as copies:
        return {each.address.key: path.read_bytes() for each, path in zip(objects, copies.paths, strict=True)}


def test_an_argument_is_a_path_or_an_address() -> None:
    assert parse_source("gold/s3:/x") == Path("gold/s3:/x")
    assert parse_source("s3://b/a//b c%20?x#[1]/") == Address("b", "a//b c%20?x#[1]/")
    assert parse_source("S3a://b") == Address("b", "")
    with pytest.raises(ObjectError, match=r"gs://b/k: gs:// cannot be read; name a path, or s3://bucket/key"):
        parse_source("gs://b/k")
    with pytest.raises(ObjectError, match="s3:///k names no bucket; write s3://bucket/key"):
        parse_source("s3:///k")
    with pytest.raises(ObjectError, match="s3://no bucket/k: 'no bucket' cannot be a bucket's name, which has letters"):
        parse_source("s3://no bucket/k")


# Spark, Delta and Hadoop leave these; one of them read as data would be counted twice.
def test_hidden_objects_and_marks_of_folders_are_left_out(bucket: Bucket) -> None:
    for key in (
        *("gold/_SUCCESS", "gold/_temporary/0/a.parquet", "gold/x/.b.parquet.crc", "gold/x/", "gold_$folder$"),
        *("gold/x_$folder$", "golden/a", "gold", "gold/b-1", "gold/b/2", "gold/a_b.c"),
    ):
        bucket.put(key, b"1")
    found = ObjectStorage().files(bucket.address("gold").folder)
    # As paths are ordered on a disk, where b/2 is before b-1.
    assert [each.address.key for each in found] == ["gold/a_b.c", "gold/b/2", "gold/b-1"]


def test_a_prefix_of_many_pages(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(7):
        bucket.put(f"many/{number}", b"%d" % number)
    storage = ObjectStorage()
    paginator = storage._client.get_paginator("list_objects_v2")
    pages = paginator.paginate
    monkeypatch.setattr(
        type(paginator), "paginate", lambda _, **asked: pages(**asked, PaginationConfig={"PageSize": 3})
    )
    assert len(storage.files(bucket.address("many/"))) == 7


def test_the_bucket_itself_is_a_folder(bucket: Bucket) -> None:
    bucket.put("a", b"1")
    bucket.put("b/c", b"2")
    assert asyncio.run(contents(bucket.address())) == {"a": b"1", "b/c": b"2"}


def test_copies_are_equal_whatever_the_chunks(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_storage, "CHUNK", 10)
    monkeypatch.setattr(object_storage, "BLOCK", 3)
    bodies = {f"x/{size}": bytes(range(size)) for size in (0, 1, 9, 10, 11, 95)}
    for key, body in bodies.items():
        bucket.put(key, body)
    assert asyncio.run(contents(bucket.address("x"))) == bodies


KEY_PARTS = st.text(
    st.one_of(
        st.sampled_from(" %+[]*?{}\\'\"&=#:;,~é漢🙂2F"), st.characters(codec="utf-8", categories=("L", "N", "P", "S"))
    ),
    min_size=1,
    max_size=40,
).filter(lambda part: not part.startswith((".", "_")) and not part.endswith("_$folder$") and "/" not in part)


# Each of these letters means something to a shell, a URL, a pattern or a file system.
@pytest.mark.slow
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.sets(st.lists(KEY_PARTS, min_size=1, max_size=3).map("/".join), min_size=1, max_size=3))
def test_keys_are_taken_literally(bucket: Bucket, keys: set[str]) -> None:
    folder = f"in/{len(bucket.server.requests)}"
    for key in keys:
        bucket.put(f"{folder}/{key}", key.encode())
    assert asyncio.run(contents(bucket.address(folder))) == {f"{folder}/{key}": key.encode() for key in keys}
    for key in keys:
        found = ObjectStorage().find(bucket.address(f"{folder}/{key}"))
        assert found is not None
        assert found.size == len(key.encode())


def test_an_object_is_found_or_is_a_folder(bucket: Bucket) -> None:
    bucket.put("prices/a.csv", b"12345")
    storage = ObjectStorage()
    found = storage.find(bucket.address("prices/a.csv"))
    assert found == storage.files(bucket.address("prices/"))[0]
    assert storage.find(bucket.address("prices")) is None
    assert storage.find(bucket.address("prices/")) is None


def test_a_fingerprint_follows_the_contents(bucket: Bucket) -> None:
    def found() -> int:
        return fingerprint(ObjectStorage().files(bucket.address("x/")))

    bucket.put("x/a", b"1")
    first = found()
    bucket.put("x/a", b"2")
    assert found() != first
    bucket.put("x/a", b"1")
    assert found() == first
    bucket.put("x/b", b"1")
    assert found() != first
    assert 0 <= first < 2**63


class Connections:
    """Answers of GET that end early, so many times for each object."""

    def __init__(self, body: bytes, etag: str, breaks: int, sent: int) -> None:
        self.body, self.etag, self.breaks, self.sent = body, etag, breaks, sent
        self.ranges: list[str] = []

    def __call__(self, request: Request) -> Answer | None:
        if request.method != "GET" or not request.key or request.range is None:
            return None
        self.ranges.append(request.range)
        if len(self.ranges) > self.breaks:
            return None
        start, end = map(int, request.range.removeprefix("bytes=").split("-"))
        headers = (("Content-Length", str(end + 1 - start)), ("ETag", self.etag))
        return Answer("206 Partial Content", self.body[start : start + self.sent], headers)


def test_a_broken_connection_goes_on_where_it_was(bucket: Bucket) -> None:
    body = bytes(range(100))
    bucket.put("x/a", body)
    (listed,) = ObjectStorage().files(bucket.address("x/"))
    breaking = bucket.server.answer = Connections(body, listed.etag, 7, 10)
    assert asyncio.run(contents(bucket.address("x"))) == {"x/a": body}
    assert breaking.ranges == [f"bytes={start}-99" for start in range(0, 80, 10)]


def test_a_connection_that_only_breaks_is_given_up(bucket: Bucket, temporary: Path) -> None:
    bucket.put("x/a", bytes(100))
    (listed,) = ObjectStorage().files(bucket.address("x/"))
    bucket.server.answer = Connections(bytes(100), listed.etag, 100, 0)
    with pytest.raises(ObjectError, match=r"s3://bucket-\d+/x/a: the connection breaks again and again: "):
        asyncio.run(contents(bucket.address("x")))
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("change", ["replaced", "removed"])
def test_an_object_that_changes_after_it_was_listed(bucket: Bucket, temporary: Path, change: str) -> None:
    bucket.put("x/a", b"first")
    bucket.put("x/b", b"other")
    storage = ObjectStorage()
    objects = storage.files(bucket.address("x/"))
    if change == "replaced":
        bucket.put("x/a", b"later")
    else:
        bucket.remove("x/a")

    async def attempt() -> None:
        async with copied(storage, bucket.address("x/"), objects):
            raise AssertionError("copied")

    with pytest.raises(ObjectError) as error:
        asyncio.run(attempt())
    line = f"s3://{bucket.name}/x/a: was replaced or removed while it was read; run the command again"
    assert str(error.value) == line
    assert list(temporary.iterdir()) == []


# Some stores ignore If-Match, or a range.
@pytest.mark.parametrize("given", [{"ETag": '"other"'}, {"Content-Length": "3"}])
def test_an_answer_of_another_version_or_place(bucket: Bucket, given: dict[str, str]) -> None:
    bucket.put("x/a", b"12345")
    (listed,) = ObjectStorage().files(bucket.address("x/"))
    headers = {"ETag": listed.etag, "Content-Length": "5"} | given
    body = b"12345"[: int(headers["Content-Length"])]
    bucket.server.answer = lambda request: Answer("200 OK", body, (*headers.items(),)) if request.key else None
    with pytest.raises(ObjectError, match="/x/a was replaced or removed while it was read"):
        asyncio.run(contents(bucket.address("x")))


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        (rejected("403 Forbidden", "AccessDenied"), "access is denied; allow s3:ListBucket on the bucket and s3:GetObject on its objects"),  # noqa: E501
        (rejected("400 Bad Request", "ExpiredToken"), "the AWS credentials have expired; renew them, for example by `aws sso login`"),  # noqa: E501
        (rejected("403 Forbidden", "InvalidAccessKeyId"), "the AWS access key is not known there; check AWS_PROFILE or AWS_ACCESS_KEY_ID"),  # noqa: E501
        (rejected("403 Forbidden", "SignatureDoesNotMatch"), "the AWS secret key is wrong; check AWS_PROFILE or AWS_SECRET_ACCESS_KEY"),  # noqa: E501
        (rejected("418 Teapot", "Teapot", "I am\none."), "cannot be read: Teapot I am one."),
    ],
)  # fmt: skip
def test_what_is_rejected_is_one_line(bucket: Bucket, answer: Answer, line: str) -> None:
    bucket.server.answer = lambda _: answer
    for attempt, key in ((ObjectStorage().find, "x/a"), (ObjectStorage().files, "x/")):
        with pytest.raises(ObjectError) as error:
            attempt(bucket.address(key))
        assert str(error.value) == f"s3://{bucket.name}/{key}: {line}"


def test_an_object_that_may_be_listed_but_not_read(bucket: Bucket) -> None:
    bucket.put("x/a", b"1")
    denied = rejected("403 Forbidden", "AccessDenied")
    bucket.server.answer = lambda request: denied if request.key else None
    with pytest.raises(
        ObjectError, match=r"/x/a: access is denied; allow s3:ListBucket on the bucket and s3:GetObject"
    ):
        asyncio.run(contents(bucket.address("x")))
    with pytest.raises(ObjectError, match=r"/x/a: access is denied; "):
        ObjectStorage().find(bucket.address("x/a"))
    assert ObjectStorage().find(bucket.address("x")) is None


@pytest.mark.usefixtures("bucket")
def test_a_bucket_that_is_not_there() -> None:
    with pytest.raises(
        ObjectError, match=r"s3://no-such-bucket/x/: there is no such bucket; check its name, AWS_PROFILE"
    ):
        ObjectStorage().files(Address("no-such-bucket", "x/"))


def test_no_credentials(bucket: Bucket, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(
        ObjectError, match=r"x/: there are no AWS credentials; set AWS_PROFILE, or AWS_ACCESS_KEY_ID and"
    ):
        ObjectStorage().files(bucket.address("x/"))


@pytest.mark.usefixtures("bucket")
def test_settings_of_aws_that_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(ObjectError, match=r"the settings of AWS cannot be used: The config profile \(nobody\)"):
        ObjectStorage()


def test_an_endpoint_that_nobody_listens_at(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setattr(object_storage, "TRIES", 1)
    with pytest.raises(ObjectError, match=r"s3://.*/x/: cannot be read: Could not connect to the endpoint URL"):
        ObjectStorage().files(bucket.address("x/"))


def test_a_disk_that_is_too_small(bucket: Bucket, temporary: Path) -> None:
    huge = StoredObject(bucket.address("x/a"), 2**60, '"1"')

    async def attempt() -> None:
        async with copied(ObjectStorage(), bucket.address("x/"), [huge]):
            raise AssertionError("copied")

    with pytest.raises(
        ObjectError, match=r"x/ has 1,152,921,504,606,846,976 bytes, but .* left; name another .*TMPDIR"
    ):
        asyncio.run(attempt())
    assert list(temporary.iterdir()) == []


# A thread that goes on would write into a folder that is being removed, and leave it there.
def test_a_cancelled_copy_leaves_nothing(bucket: Bucket, temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_storage, "CHUNK", 10)
    bucket.put("x/a", bytes(100))
    asked, go = Event(), Event()

    def wait(request: Request) -> None:
        if request.key:
            asked.set()
            go.wait(60)

    bucket.server.answer = wait

    async def attempt() -> None:
        copying = asyncio.create_task(contents(bucket.address("x")))
        await asyncio.to_thread(asked.wait)
        copying.cancel()
        # It waits for its threads, which wait for the server.
        _, pending = await asyncio.wait({copying}, timeout=0.05)
        assert pending
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await copying

    asyncio.run(attempt())
    assert list(temporary.iterdir()) == []
    # Of ten chunks, only those that had begun were asked for.
    assert sum(1 for each in bucket.server.requests if each.key) <= object_storage.THREADS


def test_copies_in_messages_have_the_names_of_their_objects(bucket: Bucket) -> None:
    bucket.put("x/a b.CSV", b"1")
    bucket.put("x/c", b"1")

    async def messages() -> list[str]:
        storage, source = ObjectStorage(), bucket.address("x/")
        async with copied(storage, source, storage.files(source)) as copies:
            assert [path.suffix for path in copies.paths] == [".csv", ""]
            texts = [f"{copies.paths[0]}: wrong", f'"{copies.paths[1]}", {copies.folder}: both']
            return [copies.named(text) for text in texts]

    name = f"s3://{bucket.name}/x/"
    assert asyncio.run(messages()) == [f"{name}a b.CSV: wrong", f'"{name}c", {name}: both']


def test_an_object_as_a_file(bucket: Bucket) -> None:
    bucket.put("x/a", b"0123456789")
    (listed,) = ObjectStorage().files(bucket.address("x/"))
    file = ObjectFile(ObjectStorage(), listed)
    file.seek(-4, 2)
    assert (file.read(2), file.tell()) == (b"67", 8)
    assert file.read() == b"89"
    assert file.read(1) == b""
    file.seek(2)
    file.seek(1, 1)
    assert file.read(2) == b"34"


def test_each_object_is_asked_for_once(bucket: Bucket) -> None:
    for number in range(5):
        bucket.put(f"x/{number}", bytes(1000))
    shown: list[tuple[int, int]] = []

    async def copy() -> None:
        storage, source = ObjectStorage(), bucket.address("x/")
        async with copied(storage, source, storage.files(source), lambda done, total: shown.append((done, total))):
            pass

    asyncio.run(copy())
    assert Counter(each.key for each in bucket.server.requests) == {"": 1, **{f"x/{number}": 1 for number in range(5)}}
    assert shown == [(done, 5000) for done in range(1000, 6000, 1000)]


def test_settings_for_hadoop(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ObjectStorage().s3a_settings == {
        "fs.s3a.endpoint": bucket.server.url,
        "fs.s3a.endpoint.region": "eu-west-1",
        "fs.s3a.path.style.access": "true",
    }
    monkeypatch.delenv("AWS_ENDPOINT_URL_S3")
    nothing: dict[str, Any] = {}
    assert ObjectStorage().s3a_settings == nothing


def written(bucket: Bucket, key: str) -> bytes:
    body: bytes = bucket.server.client.get_object(Bucket=bucket.name, Key=key)["Body"].read()
    return body


def uploads(bucket: Bucket) -> list[str]:
    found = bucket.server.client.list_multipart_uploads(Bucket=bucket.name)
    return [each["Key"] for each in found.get("Uploads", ())]


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_storage, "PART", 10)
    monkeypatch.setattr("moto.s3.models.S3_UPLOAD_PART_MIN_SIZE", 1)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("blocks", [[], [b"ab"], [b"a" * 9, b"b" * 25, b"", b"c" * 7]], ids=["empty", "one", "parts"])
def test_blocks_become_one_object(bucket: Bucket, blocks: list[bytes]) -> None:
    content = b"".join(blocks)
    assert ObjectStorage().write(bucket.address("a/b"), blocks) == len(content)
    assert written(bucket, "a/b") == content
    assert uploads(bucket) == []


# S3 takes 10,000 parts of an object.
def test_parts_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_storage, "PART", 10)
    monkeypatch.setattr(object_storage, "PARTS_OF_A_SIZE", 2)
    sizes = [len(part) for part in object_storage._parts([b"x" * 125])]
    assert sizes == [10, 10, 20, 20, 30, 30, 5]


@pytest.mark.usefixtures("small_parts")
def test_few_parts_are_in_memory(bucket: Bucket) -> None:
    made, most = 0, 0

    def blocks() -> Iterator[bytes]:
        nonlocal made, most
        for _ in range(30):
            made += 1
            sent = sum("partNumber" in each.query for each in bucket.server.requests)
            most = max(most, made - sent)
            yield b"x" * 10

    ObjectStorage().write(bucket.address("k"), blocks())
    # Those that are sent, one that is made, and one on either side whose request has begun or not yet.
    assert most <= object_storage.UPLOADS + 3


@pytest.mark.usefixtures("small_parts")
def test_a_write_that_fails_leaves_nothing(bucket: Bucket) -> None:
    def blocks() -> Iterator[bytes]:
        yield b"x" * 35
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ObjectStorage().write(bucket.address("k"), blocks())
    assert ObjectStorage().find(bucket.address("k")) is None
    assert uploads(bucket) == []


@pytest.mark.usefixtures("small_parts")
def test_a_part_that_is_rejected_fails_the_write(bucket: Bucket) -> None:
    denied = rejected("403 Forbidden", "AccessDenied")
    bucket.server.answer = lambda request: denied if "partNumber=2" in request.query else None
    with pytest.raises(ObjectError, match=r"k: access is denied; allow s3:ListBucket and .* s3:PutObject, s3:Delete"):
        ObjectStorage().write(bucket.address("k"), [b"x" * 35])
    assert uploads(bucket) == []


@pytest.mark.usefixtures("bucket")
def test_writing_to_no_bucket() -> None:
    with pytest.raises(ObjectError, match=r"s3://absent-bucket/k: there is no such bucket; check its name"):
        ObjectStorage().write(Address("absent-bucket", "k"), [b"x"])


LISTED_UPLOAD = "<Upload><Key>p/{key}</Key><UploadId>{key}</UploadId><Initiated>{begun}</Initiated></Upload>"


# A killed process cannot abort what it began; another one may be writing now. moto does not know when an upload began.
def test_parts_that_nobody_completes_are_removed_in_time(bucket: Bucket) -> None:
    old = LISTED_UPLOAD.format(key="old", begun="2026-08-24T11:59:59.000Z")
    new = LISTED_UPLOAD.format(key="new", begun="2026-08-24T12:00:00.000Z")
    listing = f"<ListMultipartUploadsResult>{old}{new}</ListMultipartUploadsResult>"

    def answer(request: Request) -> Answer:
        if request.method == "DELETE":
            return Answer("204 No Content")
        assert "prefix=p%2F" in request.query
        return Answer("200 OK", listing.encode(), (("Content-Type", "application/xml"),))

    bucket.server.answer = answer
    ObjectStorage().abandon(bucket.address("p/"), datetime(2026, 8, 24, 12, tzinfo=UTC))
    removed = [(each.key, each.query) for each in bucket.server.requests if each.method == "DELETE"]
    assert removed == [("p/old", "uploadId=old")]


def test_an_object_is_removed(bucket: Bucket) -> None:
    address = bucket.put("k", b"x")
    ObjectStorage().remove(address)
    assert ObjectStorage().find(address) is None
    ObjectStorage().remove(address)

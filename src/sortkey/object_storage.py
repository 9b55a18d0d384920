"""Files on object storage, `s3://bucket/key`: listed, read by ranges, copied into a temporary folder, and written.

Every byte is asked for with the ETag that was listed. So an object that is replaced or removed meanwhile is an error,
and two versions are never mixed. Credentials, region and endpoint are found as by every AWS SDK: AWS_PROFILE,
AWS_ACCESS_KEY_ID, a role; AWS_REGION; AWS_ENDPOINT_URL_S3.

Readers of files get copies, because they read a file several times, and a copy costs one download. Copies have numbers
for names: a key may be longer than a file's name, or be no path at all.

An object that is written appears when it is whole. It is sent in parts, of which a few are in memory at a time; each
has a checksum, which the store compares.
"""

from __future__ import annotations

import asyncio
import io
import re
import shutil
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Lock
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import botocore.session
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    HTTPClientError,
    IncompleteReadError,
    NoCredentialsError,
    PartialCredentialsError,
)

__all__ = [
    "THREADS",
    "Address",
    "Copies",
    "ObjectError",
    "ObjectFile",
    "ObjectStorage",
    "ShowCopied",
    "StoredObject",
    "copied",
    "fingerprint",
    "is_hidden",
    "parse_source",
]

THREADS: Final = 8
CHUNK: Final = 32 * 1024 * 1024
"""One thread copies so many bytes of an object at a time: a large one has all threads."""
BLOCK: Final = 256 * 1024
"""Bytes in memory for each thread."""
PART: Final = 8 * 1024 * 1024
"""Bytes of one part of an object that is written. S3 takes 10,000 parts, so every 1,000 parts they grow by as much:
440 GB in all."""
PARTS_OF_A_SIZE: Final = 1000
UPLOADS: Final = 3
"""Parts that are sent at a time; one more is being filled."""
CHECKSUM: Final = "CRC32"
TRIES: Final = 5
"""Of a connection that breaks without a byte between."""
_FIRST_WAIT: Final = 0.2
"""Seconds before the second try; each wait is twice the one before."""
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_BUCKET: Final = re.compile(r"[A-Za-z0-9._-]+")
_SCHEMES: Final = ("s3", "s3a")
_HADOOP_FOLDER: Final = "_$folder$"
_DENIED_WRITE: Final = (
    "access is denied; allow s3:ListBucket and s3:ListBucketMultipartUploads on the bucket, and s3:GetObject, "
    "s3:PutObject, s3:DeleteObject and s3:AbortMultipartUpload on its objects"
)
_CHANGED: Final = "was replaced or removed while it was read; run the command again"
_DENIED: Final = ("AccessDenied", "403")
_REASONS: Final = {
    "NoSuchBucket": "there is no such bucket; check its name, AWS_PROFILE and AWS_ENDPOINT_URL_S3",
    "AccessDenied": "access is denied; allow s3:ListBucket on the bucket and s3:GetObject on its objects",
    "403": "access is denied; allow s3:ListBucket on the bucket and s3:GetObject on its objects",
    "ExpiredToken": "the AWS credentials have expired; renew them, for example by `aws sso login`",
    "ExpiredTokenException": "the AWS credentials have expired; renew them, for example by `aws sso login`",
    "InvalidAccessKeyId": "the AWS access key is not known there; check AWS_PROFILE or AWS_ACCESS_KEY_ID",
    "InvalidToken": "the AWS session token is not valid; check AWS_SESSION_TOKEN, or renew the credentials",
    "SignatureDoesNotMatch": "the AWS secret key is wrong; check AWS_PROFILE or AWS_SECRET_ACCESS_KEY",
    "RequestTimeTooSkewed": "this machine's clock is wrong, so AWS rejects its requests; set it",
    "AuthorizationHeaderMalformed": "the bucket is in another region; set AWS_REGION",
    "PermanentRedirect": "the bucket is in another region; set AWS_REGION",
    "InvalidObjectState": "is archived; restore it first",
    "PreconditionFailed": _CHANGED,
    "412": _CHANGED,
    "NoSuchKey": _CHANGED,
    "404": _CHANGED,
}

ShowCopied = Callable[[int, int], None]
"""Called with how many bytes are copied, and how many there are."""


class ObjectError(Exception):
    """Object storage cannot be used; the message is one line with the address, what is wrong, and the fix."""


class Address(NamedTuple):
    """Its key is taken as it is: nothing in it is a pattern, and nothing is decoded."""

    bucket: str
    key: str

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.key}"

    @property
    def folder(self) -> Address:
        """The one whose objects begin with this key and a slash."""
        return self if not self.key or self.key.endswith("/") else Address(self.bucket, f"{self.key}/")

    def child(self, name: str) -> Address:
        return Address(self.bucket, f"{self.folder.key}{name}")


class StoredObject(NamedTuple):
    address: Address
    size: int
    etag: str

    def __str__(self) -> str:
        return str(self.address)

    def below(self, folder: Address) -> tuple[str, ...]:
        """The parts of its name within a folder."""
        return tuple(self.address.key.removeprefix(folder.key).split("/"))


def parse_source(text: str) -> Path | Address:
    """What an argument names: a path, or `s3://bucket/key`. Raises ObjectError for other addresses."""
    found = _SCHEME.fullmatch(text)
    if found is None:
        return Path(text)
    if found[1].lower() not in _SCHEMES:
        raise ObjectError(f"{text}: {found[1]}:// cannot be read; name a path, or s3://bucket/key")
    bucket, _, key = found[2].partition("/")
    if not bucket:
        raise ObjectError(f"{text} names no bucket; write s3://bucket/key")
    if _BUCKET.fullmatch(bucket) is None:
        raise ObjectError(f"{text}: {bucket!r} cannot be a bucket's name, which has letters, digits, dots and hyphens")
    return Address(bucket, key)


def is_hidden(parts: Sequence[str]) -> bool:
    """What is unfinished, and what Spark and others note beside their files, as _temporary, _SUCCESS, _delta_log."""
    return any(part.startswith((".", "_")) for part in parts)


def fingerprint(objects: Sequence[StoredObject]) -> int:
    """63 bits, others if an object was replaced, added or removed."""
    text = "\n".join(f"{each.address!r} {each.etag}" for each in objects)
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()) >> 1


class ObjectStorage:
    def __init__(self, client: Any = None) -> None:
        """Raises ObjectError for settings of AWS that are wrong."""
        self._client: Any = _client() if client is None else client

    @property
    def s3a_settings(self) -> dict[str, str]:
        """What Hadoop must be told about an endpoint that is not AWS's; all else is up to its own settings."""
        meta = self._client.meta
        if (urlsplit(meta.endpoint_url).hostname or "").endswith((".amazonaws.com", ".amazonaws.com.cn")):
            return {}
        return {
            "fs.s3a.endpoint": meta.endpoint_url,
            "fs.s3a.endpoint.region": meta.region_name,
            "fs.s3a.path.style.access": "true",
        }

    def find(self, address: Address) -> StoredObject | None:
        """The object with this key; None if there is none."""
        if not address.key or address.key.endswith("/"):
            return None
        with _worded(address):
            asked = {"Bucket": address.bucket, "Key": address.key}
            try:
                found = self._client.head_object(**asked)
            except ClientError as error:
                if error.response.get("Error", {}).get("Code") == "404":
                    return None
                # The answer to HEAD has no words, but that to a list has. The first key with a prefix is the prefix.
                listed = self._client.list_objects_v2(Bucket=address.bucket, Prefix=address.key, MaxKeys=1)
                if all(each["Key"] != address.key for each in listed.get("Contents", ())):
                    return None
                raise
            return StoredObject(address, found["ContentLength"], found["ETag"])

    def files(self, folder: Address) -> list[StoredObject]:
        """All objects below, but for hidden ones and marks of folders, in the order of their paths."""
        with _worded(folder):
            pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=folder.bucket, Prefix=folder.key)
            found = [
                StoredObject(Address(folder.bucket, each["Key"]), each["Size"], each["ETag"])
                for page in pages
                for each in page.get("Contents", ())
                if not each["Key"].endswith(("/", _HADOOP_FOLDER))
            ]
        shown = [each for each in found if not is_hidden(each.below(folder))]
        return sorted(shown, key=lambda each: each.below(folder))

    def read(self, of: StoredObject, start: int, end: int, stop: Event | None = None) -> Iterator[bytes]:
        """These bytes, a block at a time. A connection that breaks is made again, from where it was."""
        tries = 0
        stop = stop or Event()
        while start < end and not stop.is_set():
            try:
                for block in self._blocks(of, start, end):
                    start, tries = start + len(block), 0
                    yield block
                    if stop.is_set():
                        return
            except (HTTPClientError, IncompleteReadError) as error:
                tries += 1
                if tries == TRIES:
                    raise ObjectError(f"{of}: the connection breaks again and again: {_line(error)}") from error
                stop.wait(_FIRST_WAIT * 2 ** (tries - 1))

    def _blocks(self, of: StoredObject, start: int, end: int) -> Iterator[bytes]:
        with _worded(of.address):
            asked = {"Bucket": of.address.bucket, "Key": of.address.key, "Range": f"bytes={start}-{end - 1}"}
            answer = self._client.get_object(**asked, IfMatch=of.etag)
        with closing(answer["Body"]) as body:
            # A store that does not know one of the two conditions would give bytes of another place or version.
            if answer["ContentLength"] != end - start or answer["ETag"].strip('"') != of.etag.strip('"'):
                raise ObjectError(f"{of} {_CHANGED}")
            while block := body.read(BLOCK):
                yield block

    def copy(self, objects: Sequence[StoredObject], paths: Sequence[Path], show: ShowCopied, stop: Event) -> None:
        """Into new files, by several threads. Ends early if `stop` is set. Raises ObjectError."""
        total, done, lock, failed = sum(each.size for each in objects), 0, Lock(), Event()
        waiting = iter(_chunks(objects, paths))

        def work() -> None:
            nonlocal done
            while not stop.is_set():
                with lock:
                    chunk = next(waiting, None)
                if chunk is None or failed.is_set():
                    return
                with chunk.path.open("r+b") as file:
                    file.seek(chunk.start)
                    for block in self.read(chunk.of, chunk.start, chunk.end, stop):
                        file.write(block)
                        with lock:
                            done += len(block)
                            show(done, total)

        def watched() -> None:
            try:
                work()
            except BaseException:
                failed.set()
                raise

        with ThreadPoolExecutor(THREADS, "sortkey-objects") as pool:
            workers = [pool.submit(watched) for _ in range(THREADS)]
        for worker in workers:
            worker.result()

    def write(self, address: Address, blocks: Iterable[bytes]) -> int:
        """Make an object of these bytes, or replace it. Returns its size. If this raises, there is no part of it."""
        parts = _parts(blocks)
        first, second = next(parts, b""), next(parts, None)
        with _worded(address, _DENIED_WRITE, "written"):
            if second is None:
                asked = {"Bucket": address.bucket, "Key": address.key, "ChecksumAlgorithm": CHECKSUM}
                self._client.put_object(**asked, Body=first)
                size = len(first)
            else:
                size = self._write_parts(address, _chained(first, second, parts))
        found = self.find(address)
        if found is None or found.size != size:
            raise ObjectError(f"{address} is not there as it was written; see that nothing else writes it")
        return size

    def _write_parts(self, address: Address, parts: Iterator[bytes]) -> int:
        upload = {"Bucket": address.bucket, "Key": address.key}
        upload["UploadId"] = self._client.create_multipart_upload(**upload, ChecksumAlgorithm=CHECKSUM)["UploadId"]
        try:
            sent, size = self._send(upload, parts)
            self._client.complete_multipart_upload(**upload, MultipartUpload={"Parts": sent})
        except BaseException:
            # What is left of it otherwise costs money, and `abandon` finds it.
            with suppress(BotoCoreError, ClientError):
                self._client.abort_multipart_upload(**upload)
            raise
        return size

    def _send(self, upload: dict[str, str], parts: Iterator[bytes]) -> tuple[list[dict[str, Any]], int]:
        sent: list[dict[str, Any]] = []
        size, waiting = 0, deque[Future[dict[str, Any]]]()
        with ThreadPoolExecutor(UPLOADS, "sortkey-objects") as pool:
            for number, part in enumerate(parts, 1):
                if len(waiting) == UPLOADS:
                    sent.append(waiting.popleft().result())
                waiting.append(pool.submit(self._send_part, upload, number, part))
                size += len(part)
            sent.extend(each.result() for each in waiting)
        return sent, size

    def _send_part(self, upload: dict[str, str], number: int, part: bytes) -> dict[str, Any]:
        answer = self._client.upload_part(**upload, PartNumber=number, Body=part, ChecksumAlgorithm=CHECKSUM)
        checksum = f"Checksum{CHECKSUM}"
        known = {checksum: answer[checksum]} if checksum in answer else {}
        return {"PartNumber": number, "ETag": answer["ETag"], **known}

    def remove(self, address: Address) -> None:
        with _worded(address, _DENIED_WRITE, "removed"):
            self._client.delete_object(Bucket=address.bucket, Key=address.key)

    def abandon(self, folder: Address, before: datetime) -> None:
        """Remove the parts of what killed processes began to write below a folder before this time."""
        with _worded(folder, _DENIED_WRITE, "removed"):
            pages = self._client.get_paginator("list_multipart_uploads").paginate(
                Bucket=folder.bucket, Prefix=folder.key
            )
            for each in (each for page in pages for each in page.get("Uploads", ())):
                if each["Initiated"] < before:
                    upload = {"Bucket": folder.bucket, "Key": each["Key"], "UploadId": each["UploadId"]}
                    self._client.abort_multipart_upload(**upload)


def _parts(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in parts; all but the last have the size of a part."""
    number, buffer = 0, bytearray()
    for block in blocks:
        buffer += block
        while len(buffer) >= (size := PART * (1 + number // PARTS_OF_A_SIZE)):
            yield bytes(buffer[:size])
            del buffer[:size]
            number += 1
    if buffer:
        yield bytes(buffer)


def _chained(first: bytes, second: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield second
    yield from rest


class _Chunk(NamedTuple):
    of: StoredObject
    path: Path
    start: int
    end: int


def _chunks(objects: Sequence[StoredObject], paths: Sequence[Path]) -> Iterator[_Chunk]:
    for of, path in zip(objects, paths, strict=True):
        path.open("xb").close()
        for start in range(0, of.size, CHUNK):
            yield _Chunk(of, path, start, min(start + CHUNK, of.size))


class ObjectFile(io.RawIOBase):
    """An object as a file that can be read anywhere, each time by a request."""

    def __init__(self, storage: ObjectStorage, of: StoredObject) -> None:
        self._storage = storage
        self._of = of
        self._place = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._place = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._of.size}[whence]
        return self._place

    def tell(self) -> int:
        return self._place

    def readinto(self, buffer: Any) -> int:
        end = min(self._of.size, self._place + len(buffer))
        found = b"".join(self._storage.read(self._of, self._place, end))
        buffer[: len(found)] = found
        self._place += len(found)
        return len(found)


class Copies:
    """Copies of objects, in a folder that is removed afterwards."""

    def __init__(self, source: Address, objects: Sequence[StoredObject], folder: Path) -> None:
        self.source = source
        self.folder = folder
        self.objects = objects
        self.paths = [folder / f"{number:07}{_suffix(each)}" for number, each in enumerate(objects)]
        self._pattern = re.compile(re.escape(str(folder)) + r"(?:/(\d+)(?:\.[a-z]+)?)?")

    def named(self, text: str) -> str:
        """A message in which copies have the addresses of their objects."""
        return self._pattern.sub(lambda found: str(self._address(found[1])), text)

    def _address(self, number: str | None) -> Address:
        return self.source if number is None else self.objects[int(number)].address


def _suffix(of: StoredObject) -> str:
    """By which a reader knows the format."""
    found = re.search(r"\.[a-z]+\Z", of.address.key.lower())
    return "" if found is None else found[0]


@asynccontextmanager
async def copied(
    storage: ObjectStorage, source: Address, objects: Sequence[StoredObject], show: ShowCopied | None = None
) -> AsyncIterator[Copies]:
    """The folder is gone afterwards, also if the task is cancelled. Raises ObjectError."""
    with TemporaryDirectory(prefix="sortkey-objects-") as name:
        folder = Path(name).resolve()
        _require_space(source, sum(each.size for each in objects), folder)
        copies, stop = Copies(source, objects, folder), Event()
        shown = show or (lambda _done, _total: None)
        copying = asyncio.ensure_future(asyncio.to_thread(storage.copy, objects, copies.paths, shown, stop))
        try:
            await asyncio.shield(copying)
        except asyncio.CancelledError:
            # No thread may write into a folder that is being removed.
            stop.set()
            await asyncio.wait({copying})
            copying.exception()
            raise
        except OSError as error:
            raise ObjectError(f"{source} cannot be copied into {folder.parent}: {error.strerror}") from error
        yield copies


def _require_space(source: Address, size: int, folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if size > free:
        raise ObjectError(
            f"{source} has {size:,} bytes, but {folder.parent} has only {free:,} left; name another folder in TMPDIR"
        )


def _client() -> Any:
    settings = Config(
        retries={"mode": "standard", "total_max_attempts": TRIES},
        connect_timeout=10,
        read_timeout=30,
        max_pool_connections=2 * THREADS,
    )
    try:
        return botocore.session.get_session().create_client("s3", config=settings)
    except (BotoCoreError, ValueError) as error:
        raise ObjectError(f"the settings of AWS cannot be used: {_line(error)}") from error


@contextmanager
def _worded(address: Address, denied: str | None = None, done: str = "read") -> Iterator[None]:
    """`done` is what cannot be done; `denied` says which rights it needs, if not those of a reader."""
    try:
        yield
    except ClientError as error:
        answer = error.response.get("Error", {})
        code, message = answer.get("Code", ""), answer.get("Message", "")
        reason = _REASONS.get(code) or " ".join(f"cannot be {done}: {code} {message}".split())
        if denied is not None and code in _DENIED:
            reason = denied
        raise ObjectError(f"{address}: {reason}") from error
    except (NoCredentialsError, PartialCredentialsError) as error:
        advice = "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        raise ObjectError(f"{address}: there are no AWS credentials; {advice}") from error
    except BotoCoreError as error:
        raise ObjectError(f"{address}: cannot be {done}: {_line(error)}") from error


def _line(error: Exception) -> str:
    return " ".join(str(error).split())

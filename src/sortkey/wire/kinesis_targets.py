"""What `sortkey db --kinesis` delivers to: files of a folder, or a Kinesis-compatible endpoint."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from sortkey.engine.streams.kinesis_records import Destination, KinesisRecord

FAILURES: Final = (OSError, BotoCoreError, ClientError)
"""What a target raises if it cannot take records now."""
BLOCK: Final = 1 << 16


class Target(Protocol):
    def batches(self, records: Sequence[KinesisRecord]) -> Iterator[Sequence[KinesisRecord]]:
        """The records, in order, in parts for `put`."""

    def put(self, destination: Destination, records: Sequence[KinesisRecord]) -> None:
        """Deliver all; raises one of `FAILURES`, and may have delivered some."""


class FolderTarget:
    """A file for each stream, with a line of JSON for each record. What is put is on disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._whole: set[str] = set()
        """Streams whose file ends with a whole line."""

    def batches(self, records: Sequence[KinesisRecord]) -> Iterator[Sequence[KinesisRecord]]:
        yield records

    def put(self, destination: Destination, records: Sequence[KinesisRecord]) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{destination.name}.jsonl"
        if path.name not in self._whole:
            cut_torn_line(path)
        self._whole.discard(path.name)
        with path.open("ab") as file:
            file.write(b"".join(record.data + b"\n" for record in records))
            file.flush()
            os.fsync(file.fileno())
        self._whole.add(path.name)


def cut_torn_line(path: Path) -> None:
    """Remove the line that a crash has left incomplete; its record comes again."""
    if not path.exists():
        return
    with path.open("r+b") as file:
        end = file.seek(0, os.SEEK_END)
        while end:
            start = max(0, end - BLOCK)
            file.seek(start)
            last = file.read(end - start).rfind(b"\n")
            if last >= 0:
                file.truncate(start + last + 1)
                return
            end = start
        file.truncate(0)


class RecordsRejected(OSError):
    """The endpoint did not take some of the records."""


class EndpointTarget:
    """PutRecords. A request has one change of an item, so that none overtakes one that was not taken."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._clients: dict[str, Any] = {}

    def batches(self, records: Sequence[KinesisRecord]) -> Iterator[Sequence[KinesisRecord]]:
        batch: list[KinesisRecord] = []
        items: set[bytes] = set()
        for record in records:
            if record.item in items:
                yield batch
                batch, items = [], set()
            batch.append(record)
            items.add(record.item)
        yield batch

    def put(self, destination: Destination, records: Sequence[KinesisRecord]) -> None:
        entries = [
            {"Data": record.data, "PartitionKey": sha256(record.item).hexdigest()[:32].upper()} for record in records
        ]
        answer = self._client(destination.region).put_records(StreamName=destination.name, Records=entries)
        codes = {record["ErrorCode"] for record in answer["Records"] if record.get("ErrorCode")}
        if codes:
            raise RecordsRejected(f"{answer['FailedRecordCount']} records were not taken: {', '.join(sorted(codes))}")

    def _client(self, region: str) -> Any:
        client = self._clients.get(region)
        if client is None:
            session = import_module("botocore.session").get_session()
            # An endpoint of one's own takes any credentials, but wants some.
            own = {} if session.get_credentials() else {"aws_access_key_id": "local", "aws_secret_access_key": "local"}
            client = session.create_client("kinesis", region_name=region, endpoint_url=self._url, **own)
            self._clients[region] = client
        return client


def target_of(text: str) -> Target:
    """The target of the option: a URL, or a folder."""
    return EndpointTarget(text) if text.startswith(("http://", "https://")) else FolderTarget(Path(text))

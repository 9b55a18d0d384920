"""ListStreams: the readable streams of one table or of all, in the order of their ARNs."""

from __future__ import annotations

from typing import Final

from sortkey.engine.core import Answer, Core
from sortkey.engine.requests.streams import ListStreams
from sortkey.engine.streams import stream_reader

PAGE: Final = 100


def list_streams(core: Core, request: ListStreams) -> Answer:
    start = request.exclusive_start_stream_arn or ""
    limit = request.limit or PAGE
    with core.read() as snapshot:
        found = [
            stream
            for stream in stream_reader.streams(core, snapshot)
            if stream.arn > start and request.table_name in (None, stream.table.name)
        ]
    page = found[:limit]
    answer: Answer = {"Streams": [_shape(stream) for stream in page]}
    if len(found) > limit:
        answer["LastEvaluatedStreamArn"] = page[-1].arn
    return answer


def _shape(stream: stream_reader.Stream) -> dict[str, str]:
    return {"StreamArn": stream.arn, "TableName": stream.table.name, "StreamLabel": stream.entry.label}

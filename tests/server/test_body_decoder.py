"""Large bodies: decoded in slices, to the same value, or the same error, as at once."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Meta

from sortkey.server.body_decoder import LARGE_BYTES, SLICE_BYTES, BodyDecoder


class Note(msgspec.Struct):
    name: Annotated[str, Meta(max_length=8)]
    tags: tuple[int, ...] = ()


Notes = Annotated[tuple[Note, ...], Meta(min_length=1, max_length=4)]
GOOD = {"name": "a", "tags": [1, 2]}


def outcome(annotation: Any, body: bytes, *, large: bool) -> Any:
    decoder = BodyDecoder(annotation)
    try:
        return asyncio.run(decoder.decode_large(body)) if large else decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return type(error), str(error)


@pytest.mark.parametrize(
    "annotation", [Notes, Note | Notes, list[Note], list[Any], dict[str, Any] | list[Any], Note, list[Note | int]]
)
@pytest.mark.parametrize(
    "body",
    [
        [GOOD, GOOD],
        [],
        [GOOD] * 5,
        GOOD,
        [GOOD, 7],
        [GOOD, {"name": "a", "tags": [1, "x"]}],
        [{"name": "much too long"}, GOOD],
        [GOOD, {}],
        [GOOD, {"name": " - at `$"}, {"name": 1}],
        "[",
    ],
)
def test_what_is_decoded_in_slices_is_what_is_decoded_at_once(annotation: Any, body: Any) -> None:
    text = msgspec.json.encode(body)
    assert outcome(annotation, text, large=True) == outcome(annotation, text, large=False)
    spaced = b" \n" + msgspec.json.format(text)
    assert outcome(annotation, spaced, large=True) == outcome(annotation, spaced, large=False)


@pytest.mark.parametrize(
    "text", [b"", b"[", b'[{"name": "a"},]', b'[{"name": "a"}', b'[{"name": "a"}] x', b"\xff", b'[{"name": "\xff"}]']
)
def test_what_is_not_json_is_an_error_of_the_same_kind(text: bytes) -> None:
    assert outcome(list[Note], text, large=True)[0] is outcome(list[Note], text, large=False)[0]


# Others are answered between two slices.
def test_a_list_takes_turns() -> None:
    text = msgspec.json.encode([{"name": "a", "tags": [1000] * 200}] * 400)
    assert len(text) > LARGE_BYTES

    async def turns() -> int:
        decoding = asyncio.ensure_future(BodyDecoder(Note | list[Note]).decode_large(text))
        made = 0
        while not decoding.done():
            await asyncio.sleep(0)
            made += 1
        assert len(await decoding) == 400
        return made

    assert asyncio.run(turns()) >= len(text) // (2 * SLICE_BYTES)

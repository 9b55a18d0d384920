"""Where each segment of a scan is, and the text from which a later scan continues.

The text is JSON, for a program to store: it is neither signed nor encrypted, and contains keys of rows.

    {"scanned": "shop: Order", "positions": [null, {"pk": {"S": "CUSTOMER#ada"}, "sk": …}, "end"]}
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, Literal

import orjson

from sortkey.limits import SCAN_SEGMENTS
from sortkey.model.errors import CursorError
from sortkey.model.items.codec import Row
from sortkey.model.paths.cursor import from_json_value, to_json_value

END: Final = "end"
Position = Row | Literal["end"] | None
"""The key after which a segment continues, its end, or None for its beginning."""


class ScanPositions:
    def __init__(self, scanned: str, positions: list[Position]) -> None:
        self._scanned = scanned
        self._positions = positions

    @classmethod
    def first(cls, scanned: str, segments: int) -> ScanPositions:
        """The beginning of each segment. `scanned` names what is scanned."""
        if not 1 <= segments <= SCAN_SEGMENTS:
            raise ValueError(f"segments must be from 1 to {SCAN_SEGMENTS:,}, not {segments}")
        return cls(scanned, [None] * segments)

    @classmethod
    def parse(cls, text: str, scanned: str, key: Collection[str], segments: int | None) -> ScanPositions:
        """The positions in a text. Raises CursorError unless it is of the same scan: of `scanned`, whose rows have
        these key attributes, with this number of segments if it is given."""
        found, positions = _loaded(text)
        if found != scanned:
            raise CursorError(f"the cursor belongs to a scan of {found}, not of {scanned}")
        if segments not in (None, len(positions)):
            raise CursorError(f"the cursor belongs to a scan with {len(positions)} segments, not with {segments}")
        try:
            return cls(scanned, [_position(each, key) for each in positions])
        except (AttributeError, TypeError, ValueError):
            raise CursorError("invalid cursor: a position in it is not a key") from None

    def __len__(self) -> int:
        return len(self._positions)

    def __getitem__(self, segment: int) -> Position:
        return self._positions[segment]

    def __setitem__(self, segment: int, position: Position) -> None:
        self._positions[segment] = position

    def unfinished(self, most: int) -> list[int]:
        """The first segments that are not at their end."""
        found = (segment for segment, position in enumerate(self._positions) if position != END)
        return [segment for segment, _ in zip(found, range(most), strict=False)]

    def text(self) -> str:
        positions = [
            {name: to_json_value(value) for name, value in each.items()} if isinstance(each, dict) else each
            for each in self._positions
        ]
        return orjson.dumps({"scanned": self._scanned, "positions": positions}).decode()


def _loaded(text: str) -> tuple[str, list[Any]]:
    try:
        loaded = orjson.loads(text)
        scanned, positions = loaded["scanned"], loaded["positions"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise CursorError("invalid cursor: it is not the text of a scan's cursor") from None
    if not isinstance(scanned, str) or not isinstance(positions, list) or not positions:
        raise CursorError("invalid cursor: it is not the text of a scan's cursor")
    return scanned, positions


def _position(loaded: Any, key: Collection[str]) -> Position:
    if loaded is None:
        return None
    if loaded == END:
        return END
    if set(loaded) != set(key) or not all(_is_key_value(value) for value in loaded.values()):
        raise ValueError
    return {name: from_json_value(value) for name, value in loaded.items()}


def _is_key_value(value: Any) -> bool:
    ((tag, content),) = value.items()
    return tag in ("S", "N", "B") and isinstance(content, str)

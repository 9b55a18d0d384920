"""A table's settings, besides its keys and indexes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from sortkey.model.errors import DeclarationError

StreamView = Literal["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"]


@dataclass(frozen=True, slots=True)
class TableSettings:
    ttl: str | None = None
    """The field with the item's expiry time; stored in seconds since 1970."""
    stream: StreamView | None = None
    """What each record of the table's stream contains; None for no stream."""
    provisioned: tuple[int, int] | None = None
    """Read and write units per second; None for on-demand billing."""
    transactions: bool = False
    """Whether the program uses transactions; a store without them is then rejected."""

    def reject_wrong(self, table: str) -> None:
        """Raises DeclarationError for settings that no store accepts."""
        views = get_args(StreamView)
        if self.stream is not None and self.stream not in views:
            raise DeclarationError(f"table {table}: stream must be one of {', '.join(views)}, not {self.stream!r}")
        units: Any = self.provisioned
        if units is not None and not (
            isinstance(units, tuple) and len(units) == 2 and all(isinstance(each, int) and each > 0 for each in units)
        ):
            raise DeclarationError(
                f"table {table}: provisioned must be the read and the write units per second, such as (5, 5), "
                f"not {units!r}"
            )

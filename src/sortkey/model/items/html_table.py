"""Tables for notebooks: Jupyter shows what `_repr_html_` returns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, Final

import msgspec

_LONGEST: Final = 200
"""The characters of a cell; a notebook is for a look at the data."""


def html_table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join(f"<tr>{''.join(f'<td>{escape(_shortened(cell))}</td>' for cell in row)}</tr>" for row in rows)
    titles = f"<thead><tr>{head}</tr></thead>" if head else ""
    return f"<table><caption>{escape(caption)}</caption>{titles}<tbody>{body}</tbody></table>"


def items_table(caption: str, items: Sequence[Any]) -> str:
    """One row for each item, and a column for each field; with a column for the class if there are several."""
    fields = list(dict.fromkeys(name for item in items for name in item.__struct_fields__))
    classes = {type(item) for item in items}
    header = ["", *fields] if len(classes) > 1 else fields
    return html_table(caption, header, [_row(item, fields, named=len(classes) > 1) for item in items])


def _row(item: Any, fields: Sequence[str], *, named: bool) -> list[str]:
    # A partial item shows its gaps instead of raising, as its repr does.
    values = dict(zip(item.__struct_fields__, msgspec.structs.astuple(item), strict=True))
    cells = [_cell(values[name]) if name in values else "" for name in fields]
    return [type(item).__name__, *cells] if named else cells


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is msgspec.UNSET else str(value)


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"

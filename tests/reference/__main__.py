"""`make reference`: writes docs/internals/reference.md again, from the docstrings."""

from __future__ import annotations

from tests.reference.page import PAGE, filled

PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

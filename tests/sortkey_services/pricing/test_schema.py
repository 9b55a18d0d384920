"""The schema, printed and pinned: clients generate code from it."""

from __future__ import annotations

import re
from pathlib import Path

from graphql import print_schema

from sortkey_services.pricing.schema import SCHEMA

PINNED = Path(__file__).parent / "schema.graphql"
PAGE = Path(__file__).parents[3] / "docs" / "guides" / "graphql.md"
BLOCK = re.compile(r"(?<=^```graphql\n).*?(?=^```$)", re.DOTALL | re.MULTILINE)


# `python -m tests.sortkey_services.pricing.test_schema` writes it again, there and into the page.
def test_the_schema_is_pinned() -> None:
    assert print_schema(SCHEMA._schema) + "\n" == PINNED.read_text(encoding="utf-8")


def test_the_documentation_has_the_schema() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page.count("```graphql\n") == 1
    assert f"```graphql\n{PINNED.read_text(encoding='utf-8').strip()}\n```\n" in page


if __name__ == "__main__":
    text = print_schema(SCHEMA._schema) + "\n"
    PINNED.write_text(text, encoding="utf-8")
    PAGE.write_text(BLOCK.sub(lambda _: text, PAGE.read_text(encoding="utf-8")), encoding="utf-8")

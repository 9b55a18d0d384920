"""The schema, printed and pinned: clients generate code from it."""

from __future__ import annotations

from pathlib import Path

from graphql import print_schema

from sortkey_services.pricing.graphql.schema import SCHEMA

PINNED = Path(__file__).parent / "schema.graphql"


# `python -m tests.sortkey_services.pricing.graphql.test_schema` writes it again.
def test_the_schema_is_pinned() -> None:
    assert print_schema(SCHEMA._schema) + "\n" == PINNED.read_text(encoding="utf-8")


def test_the_documentation_has_the_schema() -> None:
    page = (Path(__file__).parents[4] / "docs" / "guides" / "graphql.md").read_text(encoding="utf-8")
    assert page.count("```graphql\n") == 1
    assert f"```graphql\n{PINNED.read_text(encoding='utf-8').strip()}\n```\n" in page


if __name__ == "__main__":
    PINNED.write_text(print_schema(SCHEMA._schema) + "\n", encoding="utf-8")

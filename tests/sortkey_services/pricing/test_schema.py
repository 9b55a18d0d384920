"""The schema, printed and pinned: clients generate code from it."""

from __future__ import annotations

from pathlib import Path

from graphql import print_schema

from sortkey_services.pricing.schema import SCHEMA

PINNED = Path(__file__).parent / "schema.graphql"
ROOT = Path(__file__).parents[3]


# `python -m tests.sortkey_services.pricing.test_schema` writes it again.
def test_the_schema_is_pinned() -> None:
    assert print_schema(SCHEMA._schema) + "\n" == PINNED.read_text(encoding="utf-8")


# The site includes the file; see tests/docs/test_site.py.
def test_the_documentation_has_the_schema() -> None:
    included = f'--8<-- "{PINNED.relative_to(ROOT)}"'
    assert f"```graphql\n{included}\n```\n" in (ROOT / "docs" / "guides" / "graphql.md").read_text(encoding="utf-8")


if __name__ == "__main__":
    PINNED.write_text(print_schema(SCHEMA._schema) + "\n", encoding="utf-8")

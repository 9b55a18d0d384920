"""What cfn-lint says of a template."""

from __future__ import annotations

import cfnlint.api


def lint(template: str) -> list[str]:
    """Errors and warnings, in two regions."""
    found = cfnlint.api.lint(template, regions=["eu-west-1", "us-east-1"])
    return [f"{each.rule.id} {each.path}: {each.message}" for each in found]

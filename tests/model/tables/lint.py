"""What cfn-lint says of a template."""

from __future__ import annotations

from importlib import import_module


def lint(template: str) -> list[str]:
    """Errors and warnings, in two regions."""
    # Not at the top: cfn-lint imports a system of computer algebra, which takes every worker more than a second.
    found = import_module("cfnlint.api").lint(template, regions=["eu-west-1", "us-east-1"])
    return [f"{each.rule.id} {each.path}: {each.message}" for each in found]

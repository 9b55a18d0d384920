"""Every known difference between the engine and DynamoDB Local. differences.md has the same list.

An entry is allowed only if AWS's documentation or its known answers agree with us; our own errors are fixed.
"""

from __future__ import annotations

from typing import Final

from tests.oracle import (
    differences_in_answers,
    differences_in_expressions,
    differences_in_reads,
    differences_in_requests,
    differences_in_statements,
    differences_in_tables,
)
from tests.oracle.difference import Difference

DIFFERENCES: Final[tuple[Difference, ...]] = (
    *differences_in_requests.DIFFERENCES,
    *differences_in_expressions.DIFFERENCES,
    *differences_in_reads.DIFFERENCES,
    *differences_in_tables.DIFFERENCES,
    *differences_in_statements.DIFFERENCES,
    *differences_in_answers.DIFFERENCES,
)

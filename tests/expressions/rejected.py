"""Asserts that a request is rejected with DynamoDB's message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sortkey.errors import ValidationException


@contextmanager
def rejected(message: str) -> Iterator[None]:
    with pytest.raises(ValidationException, match=f"^{re.escape(message)}$"):
        yield

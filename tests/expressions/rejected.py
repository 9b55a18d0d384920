"""How these tests say that a request is rejected, in DynamoDB's own words."""

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

"""Why a copy was not made."""

from __future__ import annotations


class CopyRefused(Exception):
    """Nothing was begun; the message names the way out."""


class CopyFailed(Exception):
    """It was begun and is not complete; the message says how it continues."""

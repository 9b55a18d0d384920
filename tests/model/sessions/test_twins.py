"""The sync and the async session have the same methods, parameters and docstrings."""

from __future__ import annotations

import inspect

import pytest

import sortkey as sk
from sortkey.model.sessions.connect import async_connect
from tests.derived_session import DERIVED, derived
from tests.twins import Described, describe, public_members


def test_the_sync_session_is_derived_from_the_async_one() -> None:
    assert DERIVED.read_text() == derived(), "edit async_session.py, then run make format"


def test_sessions_have_the_same_methods() -> None:
    assert public_members(sk.Session) == public_members(sk.AsyncSession)
    for name in public_members(sk.Session):
        assert describe(getattr(sk.Session, name)) == describe(getattr(sk.AsyncSession, name)), name


# The comparison above does not see whether a method is awaited.
def test_async_calls_are_awaited() -> None:
    called = {name for name in public_members(sk.Session) if callable(getattr(sk.Session, name))}
    # A scan is awaited item by item.
    methods = {name: getattr(sk.AsyncSession, name) for name in called - {"explain", "scan", "scan_rows", "within"}}
    assert [name for name, method in methods.items() if not is_awaited(method)] == []
    assert [name for name in methods if is_awaited(getattr(sk.Session, name))] == []


def is_awaited(method: object) -> bool:
    return inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method)


def test_they_are_opened_with_the_same_options() -> None:
    ours, theirs = describe(sk.connect), describe(async_connect)
    assert isinstance(ours, Described)
    assert isinstance(theirs, Described)
    assert ours.parameters == theirs.parameters


@pytest.mark.parametrize("cls", [sk.Session, sk.AsyncSession])
def test_public_methods_are_documented(cls: type) -> None:
    assert [name for name in public_members(cls) if not inspect.getdoc(getattr(cls, name))] == []

"""Each sync client and its async twin have the same methods, parameters and docstrings."""

from __future__ import annotations

import inspect

import pytest

from sortkey.client import AsyncClient, Client
from sortkey.client.embedded import AsyncEmbeddedClient, EmbeddedClient
from sortkey.client.prefixed import AsyncPrefixedClient, PrefixedClient
from sortkey.client.remote import RemoteClient
from sortkey.client.remote_async import AsyncRemoteClient
from tests.twins import Described, describe, public_members

TWINS = [
    (Client, AsyncClient),
    (EmbeddedClient, AsyncEmbeddedClient),
    (PrefixedClient, AsyncPrefixedClient),
    (RemoteClient, AsyncRemoteClient),
]
# botocore's own objects on one side: they differ in type, and the docstring tells what is awaited.
BOTOCORE = {"get_paginator", "get_waiter"}
# Calls of many tasks share commits; those of many threads do so by themselves.
ASYNC_ONLY = {"write_together"}


@pytest.mark.parametrize(("sync", "other"), TWINS, ids=[sync.__name__ for sync, _ in TWINS])
def test_twins_have_the_same_methods(sync: type, other: type) -> None:
    assert public_members(sync) == public_members(other) - ASYNC_ONLY
    for name in public_members(sync):
        ours, theirs = describe(getattr(sync, name)), describe(getattr(other, name))
        if name in BOTOCORE:
            assert isinstance(ours, Described)
            assert isinstance(theirs, Described)
            assert ours.parameters == theirs.parameters
        else:
            assert ours == theirs, name


@pytest.mark.parametrize("cls", [cls for twins in TWINS for cls in twins])
def test_public_methods_are_documented(cls: type) -> None:
    assert [name for name in public_members(cls) if not inspect.getdoc(getattr(cls, name))] == []

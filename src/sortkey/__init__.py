"""Sortkey: serving layers on DynamoDB, with a durable DynamoDB engine inside the process.

    import sortkey as sk

The public names are in `sortkey/public.py`, and in the modules `sk.patterns`, `sk.feeds`, `sk.services`, `sk.graphql`,
`sk.compat` and `sk.testing`. All are imported when the first of them is used: a client and `sortkey db` need no model.
The client is imported at once: `client` is both a function here and a package, and a later import of the package would
replace the function.
"""

import sys
from typing import TYPE_CHECKING

from sortkey.late_imports import late_import

if TYPE_CHECKING:
    from sortkey import compat as compat
    from sortkey import feeds as feeds
    from sortkey import graphql as graphql
    from sortkey import patterns as patterns
    from sortkey import services as services
    from sortkey import testing as testing
    from sortkey.client import async_client as async_client
    from sortkey.client import client as client
    from sortkey.public import *

    __all__: list[str]
else:
    async_client, client = (getattr(late_import("sortkey.client"), name) for name in ("async_client", "client"))
    _MODULES = ("compat", "feeds", "graphql", "patterns", "services", "testing")

    # Type checkers must not see this function: they would accept every name.
    def __getattr__(name: str) -> object:
        if name in _MODULES:
            return late_import(f"sortkey.{name}")
        if name == "__all__" or not name.startswith("_"):
            public = vars(late_import("sortkey.public"))
            names = {each: value for each, value in public.items() if not each.startswith("_")}
            globals().update(names, __all__=sorted({*names, *_MODULES}))
        try:
            return globals()[name]
        except KeyError:
            module = sys.modules[__name__]
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=module) from None


def __dir__() -> list[str]:
    return sorted({*globals(), *sys.modules[__name__].__all__})

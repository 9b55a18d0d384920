"""What the lookup over HTTP is measured beside: the framework alone, which takes the same body and answers a constant.

`python -m benchmarks._bare_framework PORT SIZE`: Litestar on uvicorn, as it is when one installs them and follows their
guides; the answer is about SIZE bytes of JSON, made by the framework from its type as any route's is.
"""

from __future__ import annotations

import sys

import uvicorn
from litestar import Litestar, post
from litestar.params import FromPath, JSONBody

from sortkey_services.boosts.design import Boost
from sortkey_services.boosts.service import LookupAnswer, LookupRequest

_ONE = Boost("20100000", 1.8, "campaign-20100000", "*")
_ONE_SIZE = 87


def app(size: int) -> Litestar:
    constant = LookupAnswer([_ONE] * round(size / _ONE_SIZE))

    @post("/boosts/{tenant:str}/lookup", status_code=200)
    async def lookup(tenant: FromPath[str], data: JSONBody[LookupRequest]) -> LookupAnswer:  # noqa: ARG001
        return constant

    return Litestar([lookup], openapi_config=None, logging_config=None)


def main(arguments: list[str]) -> None:
    port, size = map(int, arguments)
    uvicorn.run(app(size), port=port, loop="uvloop", http="httptools", access_log=False, log_level="error")


if __name__ == "__main__":
    main(sys.argv[1:])

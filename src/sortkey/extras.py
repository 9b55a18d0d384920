"""Packages that `pip install sortkey` leaves to its extras, and the error for one that is not installed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

PACKAGES: Final[Mapping[str, str]] = {
    "aiobotocore": "aiobotocore",
    "amazon": "amazon.ion",
    "backports": "backports.zstd",
    "confluent_kafka": "confluent-kafka",
    "duckdb": "DuckDB",
    "graphql": "graphql-core",
    "httptools": "httptools",
    "isal": "isal",
    "litestar": "Litestar",
    "numpy": "NumPy",
    "pyarrow": "PyArrow",
    "pyspark": "PySpark",
    "rich": "Rich",
    "sqlalchemy": "SQLAlchemy",
    "strawberry": "Strawberry",
    "usearch": "USearch",
    "uvloop": "uvloop",
}
"""Each package that only extras install, by the module it is imported as."""

EXTRAS: Final[Mapping[str, tuple[str, ...]]] = {
    "endpoint": ("httptools", "isal", "uvloop"),
    "aws": ("aiobotocore",),
    "server": ("litestar", "rich", "tzdata"),
    "kafka": ("confluent-kafka",),
    "batch": ("duckdb", "pyarrow", "sqlalchemy"),
    "graphql": ("graphql-core", "strawberry-graphql"),
    "spark": ("pyspark",),
    "vector": ("numpy", "usearch"),
    "zstd": ("backports-zstd",),
    "ion": ("amazon-ion",),
}
"""The packages that each extra in use adds: `server` to those of `endpoint`, the next three to `server`'s."""


class MissingExtra(ImportError):
    """A package of an extra is not installed; the message names it and the command that installs it."""


@contextmanager
def installed_by(extra: str) -> Iterator[None]:
    """Around imports that need an extra. Raises MissingExtra where one of its packages is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = PACKAGES.get((error.name or "").partition(".")[0])
        if package is None:
            raise
        message = f"{package} is not installed; run: pip install 'sortkey[{extra}]'"
        raise MissingExtra(message, name=error.name) from None

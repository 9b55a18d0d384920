"""Loads botocore's data files about services quickly.

botocore's own loader takes most of the time in which a client is made: it parses a megabyte of JSON in Python's parser,
into ordered dictionaries, and looks into the folders of all services to find whether it has one.
"""

from __future__ import annotations

import gzip
import os
from functools import cache
from pathlib import Path
from typing import Any

import orjson
from botocore.loaders import JSONFileLoader, Loader


class _JsonFiles(JSONFileLoader):
    def load_file(self, file_path: str) -> Any:
        """The content of a file without its ending; None if there is none."""
        path = Path(f"{file_path}.json")
        if path.is_file():
            return orjson.loads(path.read_bytes())
        compressed = Path(f"{file_path}.json.gz")
        return orjson.loads(gzip.decompress(compressed.read_bytes())) if compressed.is_file() else None


class _QuickLoader(Loader):
    FILE_LOADER_CLASS = _JsonFiles

    def list_available_services(self, type_name: str) -> list[str]:  # noqa: ARG002
        """All services, whether they have such a file or not: one that has none is an error when it is loaded."""
        folders = filter(os.path.isdir, self.search_paths)
        return sorted({name for folder in folders for name in os.listdir(folder)})


@cache
def loader(data_path: str | None = None) -> Loader:
    """A loader that also searches these folders, which are joined as in AWS_DATA_PATH. All clients share it."""
    folders = [] if data_path is None else data_path.split(os.pathsep)
    return _QuickLoader([os.path.expanduser(os.path.expandvars(folder)) for folder in folders])

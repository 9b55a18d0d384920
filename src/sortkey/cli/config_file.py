"""The file that `--config` names: TOML, one table for each service.

    [boosts]
    design = "v2"

    [boosts.tenants.de]
    timezone = "Europe/Berlin"

Each service defines what its table may hold.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sortkey.services.interface import BadSettings
from sortkey_services.registry import SERVICES


def settings_of(path: Path | None, service: str) -> Mapping[str, Any]:
    """A service's table in the file; without one, empty, which means the defaults. Raises BadSettings."""
    if path is None:
        return {}
    tables = _tables(path)
    # A mistyped table would be ignored silently.
    unknown = sorted(tables.keys() - SERVICES.keys() - {service})
    if unknown:
        known = ", ".join(f"[{name}]" for name in sorted({*SERVICES, service}))
        raise BadSettings(f"{path}: there is no service {unknown[0]!r}; the known tables are {known}")
    settings = tables.get(service, {})
    if not isinstance(settings, dict):
        raise BadSettings(f"{path}: {service!r} must be a table, [{service}], not {type(settings).__name__}")
    return settings


def _tables(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadSettings(f"cannot read the configuration in {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadSettings(f"{path} is not UTF-8: {error.reason} at byte {error.start}") from error
    except tomllib.TOMLDecodeError as error:
        raise BadSettings(f"{path} is not TOML: {error}") from error

"""Every service that comes with Sortkey, by its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sortkey.services.boosts.definition import BOOSTS
from sortkey.services.definition import ServiceDefinition

SERVICES: Final[Mapping[str, ServiceDefinition]] = {kind.name: kind for kind in (BOOSTS,)}

"""Every service that comes with Sortkey, by its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import sortkey as sk
from sortkey.services.boosts.definition import BOOSTS

SERVICES: Final[Mapping[str, sk.ServiceDefinition]] = {service.name: service for service in (BOOSTS,)}

"""The services that come with Sortkey, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import sortkey as sk
from sortkey_services.boosts.service_definition import BOOSTS
from sortkey_services.favourites.service_definition import FAVOURITES
from sortkey_services.goals.service_definition import GOALS
from sortkey_services.pricing.service_definition import PRICING
from sortkey_services.social.service_definition import SOCIAL

SERVICES: Final[Mapping[str, sk.services.ServiceDefinition]] = {
    service.name: service for service in (BOOSTS, FAVOURITES, SOCIAL, GOALS, PRICING)
}

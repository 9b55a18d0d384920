"""Every service that comes with Sortkey, by its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sortkey.services.boosts.service import BOOSTS_KIND
from sortkey.services.kind import Kind

KINDS: Final[Mapping[str, Kind]] = {kind.name: kind for kind in (BOOSTS_KIND,)}

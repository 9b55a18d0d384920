"""Every service that comes with Sortkey, by its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sortkey.services.boosts.kind import BOOSTS
from sortkey.services.kind import Kind

KINDS: Final[Mapping[str, Kind]] = {kind.name: kind for kind in (BOOSTS,)}

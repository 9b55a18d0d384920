"""`sk.patterns`: what recurs in serving layers, declared once on items.

Aggregates, rankings, bounded sets, overlays, generations, re-keyings and schedules.
"""

from sortkey.patterns.aggregates.aggregator import Aggregator as Aggregator
from sortkey.patterns.aggregates.declaration import Aggregate as Aggregate
from sortkey.patterns.aggregates.declaration import aggregate as aggregate
from sortkey.patterns.aggregates.recount_repair import Difference as Difference
from sortkey.patterns.aggregates.recount_repair import RecountReport as RecountReport
from sortkey.patterns.aggregates.values import count as count
from sortkey.patterns.aggregates.values import maximum as maximum
from sortkey.patterns.aggregates.values import minimum as minimum
from sortkey.patterns.aggregates.values import total as total
from sortkey.patterns.aggregates.windows import ranges as ranges
from sortkey.patterns.aggregates.windows import window as window
from sortkey.patterns.bounded_sets import Bounded as Bounded
from sortkey.patterns.bounded_sets import BoundedMany as BoundedMany
from sortkey.patterns.bounded_sets import BoundedRows as BoundedRows
from sortkey.patterns.bounded_sets import BoundedSet as BoundedSet
from sortkey.patterns.bounded_sets import bounded as bounded
from sortkey.patterns.bounded_sets import bounded_rows as bounded_rows
from sortkey.patterns.generation.declaration import Generations as Generations
from sortkey.patterns.generation.declaration import generations as generations
from sortkey.patterns.generation.load import GenerationLoad as GenerationLoad
from sortkey.patterns.generation.pointer import NoEarlierGeneration as NoEarlierGeneration
from sortkey.patterns.generation.pointer import Served as Served
from sortkey.patterns.generation.pointer import Superseded as Superseded
from sortkey.patterns.generation.reader import GenerationReader as GenerationReader
from sortkey.patterns.generation.removal import Removed as Removed
from sortkey.patterns.generation.removal import Remover as Remover
from sortkey.patterns.overlays import Overlay as Overlay
from sortkey.patterns.overlays import OverlayReader as OverlayReader
from sortkey.patterns.overlays import overlay as overlay
from sortkey.patterns.rankings import Rank as Rank
from sortkey.patterns.rankings import Ranked as Ranked
from sortkey.patterns.rankings import Ranking as Ranking
from sortkey.patterns.rankings import ranking as ranking
from sortkey.patterns.rekeying.declaration import Rekey as Rekey
from sortkey.patterns.rekeying.declaration import RekeyStatus as RekeyStatus
from sortkey.patterns.rekeying.declaration import RekeyWriter as RekeyWriter
from sortkey.patterns.rekeying.declaration import rekey as rekey
from sortkey.patterns.rekeying.flag import RekeyFlag as RekeyFlag
from sortkey.patterns.rekeying.flag import RekeyRefused as RekeyRefused
from sortkey.patterns.rekeying.group_writer import RekeyConflict as RekeyConflict
from sortkey.patterns.rekeying.reader import HandoverPending as HandoverPending
from sortkey.patterns.rekeying.reader import RekeyReader as RekeyReader
from sortkey.patterns.rekeying.removal import RekeyRemoval as RekeyRemoval
from sortkey.patterns.rekeying.walk import RekeyCheck as RekeyCheck
from sortkey.patterns.schedules import Due as Due
from sortkey.patterns.schedules import Schedule as Schedule
from sortkey.patterns.schedules import schedule as schedule

"""`sk.patterns`: what recurs in serving layers, declared once on items.

Aggregates, rankings, bounded sets, overlays, generations and schedules.
"""

from sortkey.patterns.aggregates.aggregator import Aggregator as Aggregator
from sortkey.patterns.aggregates.declaration import Aggregate as Aggregate
from sortkey.patterns.aggregates.declaration import aggregate as aggregate
from sortkey.patterns.aggregates.extremes import maximum as maximum
from sortkey.patterns.aggregates.extremes import minimum as minimum
from sortkey.patterns.aggregates.ranges import ranges as ranges
from sortkey.patterns.aggregates.recount_report import Difference as Difference
from sortkey.patterns.aggregates.recount_report import RecountReport as RecountReport
from sortkey.patterns.aggregates.values import count as count
from sortkey.patterns.aggregates.values import total as total
from sortkey.patterns.aggregates.windows import window as window
from sortkey.patterns.bounded_sets.answer import Bounded as Bounded
from sortkey.patterns.bounded_sets.bounded_rows import BoundedRows as BoundedRows
from sortkey.patterns.bounded_sets.bounded_rows import bounded_rows as bounded_rows
from sortkey.patterns.bounded_sets.bounded_set import BoundedSet as BoundedSet
from sortkey.patterns.bounded_sets.bounded_set import bounded as bounded
from sortkey.patterns.generation.declaration import Generations as Generations
from sortkey.patterns.generation.declaration import generations as generations
from sortkey.patterns.generation.load import GenerationLoad as GenerationLoad
from sortkey.patterns.generation.pointer import NoEarlierGeneration as NoEarlierGeneration
from sortkey.patterns.generation.pointer import Served as Served
from sortkey.patterns.generation.pointer import Superseded as Superseded
from sortkey.patterns.generation.reader import GenerationReader as GenerationReader
from sortkey.patterns.generation.removal import Removed as Removed
from sortkey.patterns.generation.removal import Remover as Remover
from sortkey.patterns.overlays.declaration import Overlay as Overlay
from sortkey.patterns.overlays.declaration import overlay as overlay
from sortkey.patterns.overlays.reader import OverlayReader as OverlayReader
from sortkey.patterns.rankings.ranking import Rank as Rank
from sortkey.patterns.rankings.ranking import Ranked as Ranked
from sortkey.patterns.rankings.ranking import Ranking as Ranking
from sortkey.patterns.rankings.ranking import ranking as ranking
from sortkey.patterns.schedules.declaration import Schedule as Schedule
from sortkey.patterns.schedules.declaration import schedule as schedule
from sortkey.patterns.schedules.due import Due as Due

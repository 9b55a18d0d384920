"""What cannot go on until an outage is over: since when, and why, for the log and the metrics."""

from __future__ import annotations

import logging
from collections import Counter
from datetime import UTC, datetime
from typing import Final

from sortkey.clock import WaitingClock
from sortkey.feeds.shards.outages import describe
from sortkey.http.metrics import Samples

REPEAT_SECONDS: Final = 60.0
"""Between two lines of the log while it lasts."""

_logger = logging.getLogger(__name__)


class Blockages:
    """Those of one feed that last. The event loop writes it; any thread may read."""

    def __init__(self) -> None:
        self._lasting: dict[str, Blockage] = {}

    def begin(self, blockage: Blockage) -> None:
        self._lasting[blockage.what] = blockage

    def end(self, blockage: Blockage) -> None:
        self._lasting.pop(blockage.what, None)

    def lasting(self) -> list[Blockage]:
        """Those that last now, the longest first."""
        return sorted(self._lasting.values(), key=lambda each: -each.seconds)

    def samples(self, prefix: str, label: str) -> Samples:
        """`label` is empty, or one of a feed."""
        lasting = list(self._lasting.values())
        labels = f"{{{label}}}" if label else ""
        samples: Samples = {
            f"{prefix}_blocked_seconds{labels}": max((each.seconds for each in lasting), default=0.0),
        }
        comma = "," if label else ""
        for error, number in Counter(each.error for each in lasting).items():
            samples[f'{prefix}_blocked{{{label}{comma}error="{error}"}}'] = number
        return samples


class Blockage:
    """Of one shard, partition or schedule. Its beginning and its end are a line of the log each."""

    def __init__(self, what: str, blockages: Blockages, clock: WaitingClock) -> None:
        self.what = what
        """What is blocked, for the log."""
        self.error = ""
        """The class of the last error."""
        self.reason = ""
        """The last error in words."""
        self._blockages = blockages
        self._clock = clock
        self._began: float | None = None
        self._since = ""
        self._logged = 0.0
        self._tries = 0

    @property
    def lasts(self) -> bool:
        return self._began is not None

    @property
    def tries(self) -> int:
        """How often it was found to last."""
        return self._tries

    @property
    def seconds(self) -> float:
        """How long it lasts; 0 if it does not."""
        began = self._began
        return 0.0 if began is None else max(0.0, self._clock.monotonic() - began)

    def lasts_by(self, error: BaseException, *, trace: bool = False) -> None:
        """It begins, or goes on. `trace` logs where the error comes from, when it begins."""
        now = self._clock.monotonic()
        self.error = type(error).__qualname__
        self.reason = describe(error)
        self._tries += 1
        if self._began is None:
            self._began, self._logged = now, now
            self._since = datetime.fromtimestamp(int(self._clock.now()), UTC).isoformat()
            self._blockages.begin(self)
            _logger.warning(
                "%s: blocked, and tried again until it succeeds: %s",
                self.what,
                self.reason,
                exc_info=error if trace else None,
            )
        elif now - self._logged >= REPEAT_SECONDS:
            self._logged = now
            _logger.warning("%s: blocked since %s, %d tries: %s", self.what, self._since, self._tries, self.reason)

    def over(self) -> None:
        """Something succeeded."""
        if self.lasts:
            _logger.warning("%s: no longer blocked, after %.1f s", self.what, self.seconds)
            self.forget()

    def forget(self) -> None:
        """Nobody tries any more, in this process."""
        self._began, self._tries = None, 0
        self._blockages.end(self)

"""Where a re-keying is: the items of the table `sortkey-rekeys`, and `FlagBook`, which changes the flag.

    FLAG#boosts-v2                 the phase, which design is read, how far the backfill is
    SHADOW#boosts-v2               what shadow reads have found
    GROUP#boosts-v2#["de","1074"]  the rows that a group of old items has in the new design: see group_writer.py

The phases follow each other, and each change of the flag is one conditional put:

    COPYING    the backfill writes the new rows, and the feed does, too
    FOLLOWING  the new rows follow the old ones; reads may be switched, and switched back
    HANDOVER   nobody writes: programs wait, until the feed has handled what was written before
    FINISHED   programs write the new design, and the feed no longer does
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final, Literal

import msgspec
from botocore.exceptions import ClientError

from sortkey.model.calls.steps import code_of
from sortkey.model.errors import ConditionFailed, ModelError
from sortkey.model.items.item import Item, replace
from sortkey.model.items.key import Key
from sortkey.model.items.table import Table
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.pattern_steps import context_of

REKEYS: Final = Table("sortkey-rekeys")

Design = Literal["old", "new"]
Phase = Literal["COPYING", "FOLLOWING", "HANDOVER", "FINISHED"]

COPYING: Final = "COPYING"
FOLLOWING: Final = "FOLLOWING"
HANDOVER: Final = "HANDOVER"
FINISHED: Final = "FINISHED"


class RekeyRefused(ModelError):
    """A step of a re-keying is not possible now. The message says what has to come first."""


class RekeyFlag(Item, table=REKEYS):
    rekey: str
    phase: Phase
    started: datetime
    reads: Design = "old"
    switched: datetime | None = None
    """When reads were switched last, either way."""
    walk: str = ""
    """The id of the backfill, which has marked the groups that it has written."""
    copied: int = 0
    """How many old items the backfill has read."""
    cursors: dict[str, str] = msgspec.field(default_factory=dict)
    """Where the backfill of each class is; empty text for a class that is done."""
    version: int = 0

    key = Key("FLAG#{rekey}", "FLAG")

    @property
    def writes(self) -> Design | None:
        """Which design programs write; None while they wait."""
        if self.phase == HANDOVER:
            return None
        return "new" if self.phase == FINISHED else "old"


class FlagBook:
    def __init__(self, session: AsyncSession, rekey: str) -> None:
        self.session = session
        self.rekey = rekey
        self._context = context_of(session)

    @property
    def now(self) -> datetime:
        return self._context.moment

    async def flag(self) -> RekeyFlag | None:
        """As it is now; None before the start."""
        return await self.session.get(RekeyFlag.key(rekey=self.rekey), consistent=True)

    async def found(self) -> RekeyFlag | None:
        """The same for a person's question: where there is no table of flags, nothing was started. A feed that cannot
        see the table may not take that for an answer."""
        try:
            return await self.flag()
        except ClientError as error:
            if code_of(error) != "ResourceNotFoundException":
                raise
            return None

    async def required(self) -> RekeyFlag:
        flag = await self.found()
        if flag is None:
            raise RekeyRefused(f"the re-keying {self.rekey} was not started in this store; start it first")
        return flag

    def not_copied(self) -> RekeyRefused:
        return RekeyRefused(f"the backfill of {self.rekey} is not complete; start it again, and it goes on")

    def not_switched(self) -> RekeyRefused:
        return RekeyRefused(f"programs still read the old design of {self.rekey}; switch first")

    async def begin(self, walk: str) -> RekeyFlag:
        """The flag of a new re-keying, or of the one that was begun."""
        await self.session.put(RekeyFlag(rekey=self.rekey, phase=COPYING, started=self.now, walk=walk), if_absent=True)
        return await self.required()

    async def change(self, make: Callable[[RekeyFlag], RekeyFlag]) -> RekeyFlag:
        """Puts what `make` makes of the flag, which may raise, unless it is the same."""
        while True:
            flag = await self.required()
            made = make(flag)
            if made == flag:
                return flag
            try:
                await self.session.put(made, if_version="version")
            except ConditionFailed:
                continue
            return made

    async def switch(self, reads: Design) -> RekeyFlag:
        """Reads the other design from now on."""

        def switched(flag: RekeyFlag) -> RekeyFlag:
            if flag.phase == FINISHED:
                raise RekeyRefused(
                    f"the re-keying {self.rekey} is finished: programs write the new design, so the old one is out of "
                    f"date"
                )
            if flag.phase == COPYING and reads == "new":
                raise self.not_copied()
            if flag.reads == reads:
                return flag
            return replace(flag, reads=reads, phase=_not_waiting(flag.phase), switched=self.now)

        return await self.change(switched)

    async def hand_over(self) -> RekeyFlag:
        def handed_over(flag: RekeyFlag) -> RekeyFlag:
            if flag.phase not in (FOLLOWING, HANDOVER) or flag.reads != "new":
                raise self.not_switched()
            return replace(flag, phase=HANDOVER)

        return await self.change(handed_over)

    async def give_up_handover(self) -> None:
        """Programs write the old design again, as before."""
        await self.change(lambda flag: replace(flag, phase=_not_waiting(flag.phase)))

    async def finish(self) -> RekeyFlag:
        def finished(flag: RekeyFlag) -> RekeyFlag:
            if flag.phase not in (HANDOVER, FINISHED):
                raise RekeyRefused(f"the handover of {self.rekey} was given up meanwhile; finish it again")
            return replace(flag, phase=FINISHED)

        return await self.change(finished)


def _not_waiting(phase: Phase) -> Phase:
    return FOLLOWING if phase == HANDOVER else phase

"""How many a user follows, and how many follow the user: each change of a follow counts exactly once, in both."""

from __future__ import annotations

from typing import Final

import sortkey as sk
from sortkey_services.social.model import Follow, FollowCounts

# Both keep their values in the same items, so that one read has both; each has marks of its own.
FOLLOWING: Final = sk.patterns.aggregate(
    Follow, into=FollowCounts, by=("user",), values={"following": sk.patterns.count()}, checkpoints="following"
)
FOLLOWERS: Final = sk.patterns.aggregate(
    Follow,
    into=FollowCounts,
    by={"user": "followed"},
    values={"followers": sk.patterns.count()},
    checkpoints="followers",
)

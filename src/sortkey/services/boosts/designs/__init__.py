"""The ways to keep boosts in tables. All give the same answers, at very different cost; see docs/boosts.md."""

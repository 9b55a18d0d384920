"""Three table designs for boosts: the same answers at very different cost; see docs/services/boosts.md."""

"""The parts of `check`: what a sound store looks like."""

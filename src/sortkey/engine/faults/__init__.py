"""Faults on request: what a program meets on AWS and never on one machine, for tests of that program."""

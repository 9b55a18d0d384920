"""Events in and out of a service."""

"""Schedules on AWS: EventBridge Scheduler instead of timers in the store."""

"""Feeds on AWS: Lambda functions, and EventBridge Scheduler instead of timers in the store."""

"""Workers of schedules: leases, timers, retries, dead letters."""

"""What access paths cost: explained before a request, and metered after it."""

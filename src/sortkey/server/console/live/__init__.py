"""What open pages see without asking: one sampler for all of them, and a stream of events to each."""

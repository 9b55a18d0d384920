"""The calls of a session, without the session: each is a generator that yields the requests it needs (`steps`)."""

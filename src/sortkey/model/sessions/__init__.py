"""Sessions carry out the model's calls on a store, sync or async.

Each call is a generator that yields the requests it needs (`steps`) and receives their answers, so the two sessions are
thin shells around one core.
"""

"""Sessions: what the model says, carried out on a store, sync or async.

Everything is decided in generators that yield the requests they want (`steps`) and are told the answers, so that the
two sessions are thin shells around one core.
"""

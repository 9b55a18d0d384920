"""Sessions carry out the calls on a store, sync or async: two shells of one text, around one core (`model/calls`)."""

"""Durable timers: declared on an item's time, set from the changes of a table, kept in the store."""

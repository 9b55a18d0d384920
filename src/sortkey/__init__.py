"""Sortkey: serving layers on DynamoDB, with a durable DynamoDB engine inside the process."""

from sortkey.client import async_client, client

__all__ = ["async_client", "client"]

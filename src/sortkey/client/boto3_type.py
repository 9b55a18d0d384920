"""The type of `sk.client`: to type checkers, it is the `DynamoDBClient` of boto3-stubs as well as ours.

boto3-stubs declares a class, not a protocol, so only a class that is derived from it satisfies an annotation. At run
time a client is derived from ours alone: it has the methods, and nothing else of botocore's. Its own methods are typed
as ours: any members, and a dictionary. Where boto3-stubs is not installed, type checkers take its class for `Any`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sortkey.client.interface import Client

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    class Boto3Client(Client, DynamoDBClient):  # type: ignore[misc]
        """A client of `sk.client`."""

else:
    Boto3Client = Client

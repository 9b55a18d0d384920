"""Raw requests to a DynamoDB endpoint: no client in between that validates, retries or reshapes them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from http.client import HTTPConnection, HTTPSConnection
from typing import Any, Final
from urllib.parse import urlsplit

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.session import Session

STREAM_OPERATIONS: Final = frozenset({"ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"})
REQUEST_SECONDS: Final = 60
DESCRIBE_TRIES: Final = 50


class OracleError(Exception):
    """The endpoint's error: its code, its message and the whole answer."""

    def __init__(self, code: str, message: str, body: dict[str, Any]) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.body = body

    @property
    def members(self) -> dict[str, Any]:
        """Members of the error other than code and message, such as `Item` or `CancellationReasons`."""
        return {name: value for name, value in self.body.items() if name not in ("__type", "message", "Message")}


class Endpoint:
    """One connection to an endpoint, kept alive.

    With a `namespace` the requests have it as access key id and a dummy signature, which DynamoDB Local accepts;
    without one they are signed with the credentials that boto3 finds.
    """

    def __init__(self, url: str, namespace: str | None = None) -> None:
        self._url = url
        self._namespace = namespace
        parts = urlsplit(url)
        connection = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._connection = connection(parts.netloc, timeout=REQUEST_SECONDS)
        self._created: list[str] = []

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        body = json.dumps(request).encode()
        answer = self._described(body) if operation == "DescribeTable" else self.send(operation, body)
        if operation == "CreateTable":
            self._created.append(request["TableName"])
        return answer

    def _described(self, body: bytes) -> dict[str, Any]:
        """DynamoDB Local sometimes fails on a table that it is changing; a retry succeeds."""
        for _ in range(DESCRIBE_TRIES - 1):
            try:
                return self.send("DescribeTable", body)
            except OracleError as error:
                if error.code != "InternalFailure":
                    raise
        return self.send("DescribeTable", body)

    def send(self, operation: str, body: bytes) -> dict[str, Any]:
        """As `call`, for a body that need not be JSON."""
        self._connection.request("POST", "/", body, self._headers(operation, body))
        response = self._connection.getresponse()
        answer: dict[str, Any] = json.loads(response.read() or b"{}")
        if response.status == 200:
            return answer
        code = str(answer.get("__type", response.reason)).rpartition("#")[2]
        raise OracleError(code, str(answer.get("message", answer.get("Message", ""))), answer)

    def drop_tables(self) -> None:
        """Delete the tables that were created here."""
        self.drop(self._created)
        self._created.clear()

    def drop(self, tables: Iterable[str]) -> None:
        """Delete these tables, protected ones too."""
        for table in tables:
            try:
                self.call("DeleteTable", {"TableName": table})
            except OracleError as error:
                if error.code == "ValidationException":
                    self.call("UpdateTable", {"TableName": table, "DeletionProtectionEnabled": False})
                    self.call("DeleteTable", {"TableName": table})
                elif error.code != "ResourceNotFoundException":
                    raise

    def close(self) -> None:
        self._connection.close()

    def _headers(self, operation: str, body: bytes) -> dict[str, str]:
        service = "DynamoDBStreams_20120810" if operation in STREAM_OPERATIONS else "DynamoDB_20120810"
        headers = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": f"{service}.{operation}"}
        if self._namespace is None:
            return self._signed(headers, body)
        credential = f"{self._namespace}/20260101/us-east-1/dynamodb/aws4_request"
        headers["Authorization"] = f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders=host, Signature=x"
        headers["X-Amz-Date"] = "20260101T000000Z"
        return headers

    def _signed(self, headers: dict[str, str], body: bytes) -> dict[str, str]:
        session = Session()
        credentials = session.get_credentials()
        if credentials is None:
            raise LookupError("no credentials to sign with: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
        region = session.get_config_variable("region") or "us-east-1"
        request = AWSRequest("POST", self._url, headers, body)
        SigV4Auth(credentials, "dynamodb", region).add_auth(request)
        return dict(request.headers)

"""What the page does, as code to copy: Python with Sortkey and with boto3, the AWS CLI, and curl.

Values are literals of their language, so a row's text cannot become code: Python's `repr`, JSON, and the shell's single
quotes.
"""

from __future__ import annotations

import shlex
from typing import Any, Final, Literal

import orjson

from sortkey.client.boto3_shapes import convert_member
from sortkey.model.items.access_path import AccessPath
from sortkey.server.console.access import Viewer
from sortkey.server.console.data.declared import Declared, PathRequest, Range
from sortkey.server.console.data.paths import requests_of
from sortkey.server.console.data.raw import READS
from sortkey.server.console.routes import Body, Item, Key, Message, Route, Routes, invalid

_METHODS: Final = {
    "Query": "query",
    "Scan": "scan",
    "GetItem": "get_item",
    "PutItem": "put_item",
    "DeleteItem": "delete_item",
}
_CLI: Final = {
    "Query": "query",
    "Scan": "scan",
    "GetItem": "get-item",
    "PutItem": "put-item",
    "DeleteItem": "delete-item",
}


_IMPORTS: Final = {
    "datetime.": "import datetime",
    "Decimal(": "from decimal import Decimal",
    "UUID(": "from uuid import UUID",
}
"""What the values of a path need."""


class CodeRequest(Body):
    """A path, a request, or an edit."""

    path: str | None = None
    fields: dict[str, str] | None = None
    range: Range | None = None
    descending: bool = False
    first: int = 50
    after: Any = None
    collection: bool = False
    operation: str | None = None
    request: dict[str, Any] | None = None
    edit: Literal["put", "delete"] | None = None
    table: str | None = None
    item: Item | None = None
    key: Key | None = None


class Code(Message):
    sortkey: str | None
    boto3: str
    cli: str
    curl: str


class CodeWriter:
    def __init__(self, store: str, endpoint: str | None, region: str, declared: Declared) -> None:
        """`store` is the URL with which `sk.connect` opens it; `endpoint` its DynamoDB endpoint, None for AWS."""
        self._store = store
        self._endpoint = endpoint
        self._region = region
        self._declared = declared

    def routes(self) -> Routes:
        return {"code": Route(CodeRequest, self.code)}

    async def code(self, viewer: Viewer, wanted: CodeRequest) -> Code:
        operation, request, path = self._request(viewer, wanted)
        return Code(
            None if path is None else self._sortkey(path, wanted),
            self._boto3(operation, request),
            self._cli(operation, request),
            self._curl(operation, request),
        )

    def _request(self, viewer: Viewer, wanted: CodeRequest) -> tuple[str, dict[str, Any], AccessPath[Any] | None]:
        if wanted.path is not None:
            asked = PathRequest(
                wanted.path,
                wanted.fields or {},
                wanted.range,
                wanted.descending,
                collection=wanted.collection,
            )
            path = self._declared.path(viewer, asked)
            requests = requests_of(path)
            own = {} if requests.operation == "GetItem" else {"Limit": wanted.first}
            backward = {"ScanIndexForward": False} if wanted.descending and own else {}
            return requests.operation, {**requests.each[0], **own, **backward}, path
        if wanted.operation is not None and wanted.request is not None:
            if wanted.operation not in READS:
                raise invalid(f"{wanted.operation!r} is not one of {', '.join(READS)}.")
            return wanted.operation, wanted.request, None
        if wanted.edit == "put" and wanted.table is not None and wanted.item is not None:
            return "PutItem", {"TableName": wanted.table, "Item": wanted.item}, None
        if wanted.edit == "delete" and wanted.table is not None and wanted.key is not None:
            return "DeleteItem", {"TableName": wanted.table, "Key": wanted.key}, None
        raise invalid("Give a path with its fields, an operation with its request, or an edit.")

    def _sortkey(self, path: AccessPath[Any], wanted: CodeRequest) -> str:
        text = repr(path).replace(f"collection({path.name}", f"sk.collection({path.name}")
        imports = [line for word, line in _IMPORTS.items() if word in text]
        lines = [*imports, "import sortkey as sk", f"from {path.schema.owner.__module__} import {path.entity}", ""]
        lines.append(f"with sk.connect({self._store!r}) as db:")
        if path.is_exact and not path.collection:
            return "\n".join([*lines, f"    print(db.get({text}))"])
        backward = ", descending=True" if wanted.descending else ""
        lines.append(f"    for item in db.page({text}, first={wanted.first}{backward}).items:")
        return "\n".join([*lines, "        print(item)"])

    def _boto3(self, operation: str, request: dict[str, Any]) -> str:
        given = "" if self._endpoint is None else f", endpoint_url={self._endpoint!r}"
        members = "".join(f"    {name}={value!r},\n" for name, value in convert_member("", request).items())
        return (
            f'import boto3\n\nclient = boto3.client("dynamodb", region_name={self._region!r}{given})\n'
            f"answer = client.{_METHODS[operation]}(\n{members})\nprint(answer)"
        )

    def _cli(self, operation: str, request: dict[str, Any]) -> str:
        text = shlex.quote(orjson.dumps(request).decode())
        endpoint = "" if self._endpoint is None else f" --endpoint-url {shlex.quote(self._endpoint)}"
        return f"aws dynamodb {_CLI[operation]} --region {shlex.quote(self._region)}{endpoint} --cli-input-json {text}"

    def _curl(self, operation: str, request: dict[str, Any]) -> str:
        url = self._endpoint or f"https://dynamodb.{self._region}.amazonaws.com"
        signed = shlex.quote(f"aws:amz:{self._region}:dynamodb")
        return " \\\n  ".join(
            [
                f"curl {shlex.quote(url)}",
                f'--aws-sigv4 {signed} --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY"',
                "-H 'Content-Type: application/x-amz-json-1.0'",
                f"-H 'X-Amz-Target: DynamoDB_20120810.{operation}'",
                f"-d {shlex.quote(orjson.dumps(request).decode())}",
            ]
        )

"""The engine's errors as botocore raises them: ClientError, in subclasses named after the error's code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from botocore.exceptions import ClientError

from sortkey.client import service_model
from sortkey.client.boto3_shapes import to_boto3
from sortkey.client.service_model import response_metadata
from sortkey.errors import DynamoDBError

_REQUEST_ERRORS: Final = frozenset({"ValidationException", "SerializationException"})
"""Codes of errors in requests that boto3 might not have sent."""
UNMODELLED: Final = frozenset(
    {
        "ValidationException",
        "SerializationException",
        "UnknownOperationException",
        "AccessDeniedException",
        "ServiceUnavailableException",
        "TableFencedException",
        "TableMovedException",
    }
)
"""Codes that the service model lacks; boto3's response has only `Error` for them."""
CAPITAL_MESSAGE: Final = frozenset(
    {"IdempotentParameterMismatchException", "TransactionCanceledException", "TransactionInProgressException"}
)
"""Codes whose message is called `Message` in the service model, not `message`."""


class Exceptions:
    """`client.exceptions`: the classes of DynamoDB's errors by their codes, one set for all clients.

    boto3 has classes only for the codes in its service model; here others, such as ValidationException, have one as
    well.
    """

    def __init__(self) -> None:
        self._by_code: dict[str, type[ClientError]] = {"ClientError": ClientError}
        self._add(error.__name__ for error in DynamoDBError.__subclasses__())

    def from_code(self, error_code: str) -> type[ClientError]:
        """The class for a code; ClientError for an unknown one."""
        return self._find(error_code) or ClientError

    def __getattr__(self, name: str) -> type[ClientError]:
        found = None if name.startswith("_") else self._find(name)
        if found is None:
            raise AttributeError(f"no exception {name} in DynamoDB's service model or in the engine")
        return found

    def _find(self, code: str) -> type[ClientError] | None:
        if code not in self._by_code:
            # Errors that the engine never raises may still be named in an `except` written for AWS.
            for service in ("dynamodb", "dynamodbstreams"):
                self._add(shape.name for shape in service_model.service_model(service).error_shapes)
        return self._by_code.get(code)

    def _add(self, codes: Iterable[str]) -> None:
        for code in codes:
            self._by_code.setdefault(code, _exception(code))


def _exception(code: str) -> type[ClientError]:
    return type(code, (ClientError,), {"__module__": __name__})


EXCEPTIONS: Final = Exceptions()


def client_error(operation: str, members: dict[str, Any], error: DynamoDBError) -> ClientError:
    """The error of a call. Raises ParamValidationError instead if boto3 would not have sent the request."""
    if error.code in _REQUEST_ERRORS:
        service_model.check_parameters(operation, members)
    response: Any = {
        "Error": {"Message": error.message, "Code": error.code},
        "ResponseMetadata": response_metadata(error.status),
        **to_boto3(error.members),
    }
    if error.code not in UNMODELLED:
        response["Message" if error.code in CAPITAL_MESSAGE else "message"] = error.message
    return EXCEPTIONS.from_code(error.code)(response, operation)


def remote_error(operation: str, members: dict[str, Any], error: ClientError) -> ClientError:
    """An error that botocore raised for a remote store, in the class that `client.exceptions` has for its code. Raises
    ParamValidationError as `client_error` does: requests are not fully checked before they are sent."""
    code = error.response["Error"]["Code"]
    if code in _REQUEST_ERRORS:
        service_model.check_parameters(operation, members)
    return EXCEPTIONS.from_code(code)(error.response, error.operation_name)


@contextmanager
def translated(operation: str, members: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Raise the engine's errors in this block as errors of a call with these members."""
    try:
        yield members
    except DynamoDBError as error:
        raise client_error(operation, members, error) from None

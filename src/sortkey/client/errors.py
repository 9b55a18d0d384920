"""The engine's errors as botocore raises them: ClientError, in subclasses named after the error's code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from botocore.exceptions import ClientError

from sortkey.client import parameters, service_model
from sortkey.client.metadata import response_metadata
from sortkey.client.shapes import from_wire
from sortkey.errors import DynamoDBError

_MISTAKES: Final = frozenset({"ValidationException", "SerializationException"})
"""Codes behind which there may be something that boto3 would not have sent."""
UNMODELLED: Final = frozenset(
    {"ValidationException", "SerializationException", "UnknownOperationException", "AccessDeniedException"}
)
"""Codes that the service model does not describe, so that boto3 repeats nothing of them beside `Error`."""
CAPITAL_MESSAGE: Final = frozenset(
    {"IdempotentParameterMismatchException", "TransactionCanceledException", "TransactionInProgressException"}
)
"""Codes whose own message is called `Message` in the service model; of the others, `message`."""


class Exceptions:
    """`client.exceptions`: the classes of DynamoDB's errors by their codes, one set for all clients.

    boto3 knows only the codes in its service model; here the others, such as ValidationException, have a class as well.
    """

    def __init__(self) -> None:
        self._by_code: dict[str, type[ClientError]] = {"ClientError": ClientError}
        self._add(kind.__name__ for kind in DynamoDBError.__subclasses__())

    def from_code(self, error_code: str) -> type[ClientError]:
        """The class for a code; for one that nobody knows, ClientError."""
        return self._find(error_code) or ClientError

    def __getattr__(self, name: str) -> type[ClientError]:
        found = None if name.startswith("_") else self._find(name)
        if found is None:
            raise AttributeError(f"there is no exception {name}, neither in DynamoDB's service model nor in the engine")
        return found

    def _find(self, code: str) -> type[ClientError] | None:
        if code not in self._by_code:
            # What the engine never raises can still be named in an `except` that was written for AWS.
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
    """The error of a call. Raises ParamValidationError instead where boto3 would have rejected to send it."""
    if error.code in _MISTAKES:
        parameters.check(operation, members)
    response: Any = {
        "Error": {"Message": error.message, "Code": error.code},
        "ResponseMetadata": response_metadata(error.status),
        **from_wire(error.members),
    }
    if error.code not in UNMODELLED:
        response["Message" if error.code in CAPITAL_MESSAGE else "message"] = error.message
    return EXCEPTIONS.from_code(error.code)(response, operation)


def of_one_set(operation: str, members: dict[str, Any], error: ClientError) -> ClientError:
    """A remote store's error, which botocore raised, in the class that `client.exceptions` has for its code. Raises
    ParamValidationError as `client_error` does: requests are not checked all through before they are sent."""
    code = error.response["Error"]["Code"]
    if code in _MISTAKES:
        parameters.check(operation, members)
    return EXCEPTIONS.from_code(code)(error.response, error.operation_name)


@contextmanager
def translated(operation: str, members: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The block's errors as those of a call with these members."""
    try:
        yield members
    except DynamoDBError as error:
        raise client_error(operation, members, error) from None

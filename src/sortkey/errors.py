"""DynamoDB's errors, by their own names.

DynamoDBError                                    code, message, status, retryable
├── ValidationException                          the request can never succeed as it is
├── SerializationException                       the request's JSON has the wrong shape
├── UnknownOperationException                    no such operation
├── AccessDeniedException                        the ARN of another service, or no right
├── ResourceNotFoundException                    no such table, index or stream
├── ResourceInUseException                       it exists already, or is being changed
├── TableNotFoundException                       the same, as some table operations name it
├── GlobalTableNotFoundException
├── GlobalTableAlreadyExistsException
├── ReplicaAlreadyExistsException
├── ReplicaNotFoundException
├── PolicyNotFoundException
├── TableAlreadyExistsException                  a table of the name of a restored one
├── TableInUseException                          the table is being created
├── BackupNotFoundException
├── BackupInUseException                         it is being made, or a table is being restored from it
├── PointInTimeRecoveryUnavailableException      it is not enabled for the table
├── InvalidRestoreTimeException                  the time is outside of the window
├── InvalidExportTimeException                   the same, of an export
├── ExportNotFoundException
├── ExportConflictException                      the token was used before, for another export
├── ImportNotFoundException
├── ImportConflictException                      the token was used before, for another import
├── LimitExceededException                       too many at once
├── ConditionalCheckFailedException              the condition was false; nothing was written
├── DuplicateItemException                       INSERT of a key that has an item
├── TransactionCanceledException                 why, action by action, in `CancellationReasons`
├── TransactionConflictException
├── TransactionInProgressException
├── IdempotentParameterMismatchException
├── ProvisionedThroughputExceededException       retry
├── ThrottlingException                          retry
├── RequestLimitExceeded                         retry
├── ExpiredIteratorException
├── TrimmedDataAccessException
├── TableFencedException                         retry; a copy is being completed
├── TableMovedException                          the items are in another store, which the message names
├── ServiceUnavailableException                  retry
└── InternalServerError                          retry

`FolderBusy` is none of DynamoDB's. It is here, and not in the storage layer, because sessions handle it, and those of
remote stores need no storage.
"""

from __future__ import annotations

from typing import Any, ClassVar


class DynamoDBError(Exception):
    """An error answer of the service; the class name is the error code."""

    status: ClassVar[int] = 400
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, **members: Any) -> None:
        super().__init__(message)
        self.message = message
        self.members = members
        """Further members of the error answer, such as `Item` or `CancellationReasons`."""

    @property
    def code(self) -> str:
        return type(self).__name__


class ValidationException(DynamoDBError):
    """The request breaks a rule; sending it again cannot help."""


class SerializationException(DynamoDBError):
    """The request's JSON does not have the operation's shape."""


class UnknownOperationException(DynamoDBError):
    """The operation does not exist, or is not supported."""


class AccessDeniedException(DynamoDBError):
    """The ARN names a resource of another service, or the caller may not do this."""


class ResourceNotFoundException(DynamoDBError):
    """There is no such table, index, stream or shard."""


class ResourceInUseException(DynamoDBError):
    """The table exists already, or is in a state that forbids this change."""


class TableNotFoundException(DynamoDBError):
    """There is no such source table."""


class GlobalTableNotFoundException(DynamoDBError):
    """There is no such global table."""


class GlobalTableAlreadyExistsException(DynamoDBError):
    """The table is a global table already."""


class ReplicaAlreadyExistsException(DynamoDBError):
    """The global table has a replica in that region already."""


class ReplicaNotFoundException(DynamoDBError):
    """The global table has no replica in that region."""


class PolicyNotFoundException(DynamoDBError):
    """The resource has no policy."""


class TableAlreadyExistsException(DynamoDBError):
    """A table of the name exists already."""


class TableInUseException(DynamoDBError):
    """The table is being created."""


class BackupNotFoundException(DynamoDBError):
    """There is no such backup."""


class BackupInUseException(DynamoDBError):
    """The backup is being made, or a table is being restored from it."""


class PointInTimeRecoveryUnavailableException(DynamoDBError):
    """Point-in-time recovery is not enabled for this table."""


class InvalidRestoreTimeException(DynamoDBError):
    """The time is not in the window of point-in-time recovery."""


class InvalidExportTimeException(DynamoDBError):
    """The time is not in the window of point-in-time recovery."""


class ExportNotFoundException(DynamoDBError):
    """There is no such export."""


class ExportConflictException(DynamoDBError):
    """The client token was used before, for another export."""


class ImportNotFoundException(DynamoDBError):
    """There is no such import."""


class ImportConflictException(DynamoDBError):
    """The client token was used before, for another import."""


class LimitExceededException(DynamoDBError):
    """The request exceeds a limit of the service."""


class ConditionalCheckFailedException(DynamoDBError):
    """The condition was false; nothing was written."""

    def __init__(self, message: str = "The conditional request failed", **members: Any) -> None:
        super().__init__(message, **members)


class DuplicateItemException(DynamoDBError):
    """An item with this key exists already; nothing was written."""

    def __init__(self, message: str = "Duplicate primary key exists in table") -> None:
        super().__init__(message)


class TransactionCanceledException(DynamoDBError):
    """Nothing was written; `CancellationReasons` has one reason for each action."""


class TransactionConflictException(DynamoDBError):
    """Another transaction holds the item."""


class TransactionInProgressException(DynamoDBError):
    """The transaction with this token has not ended yet."""


class IdempotentParameterMismatchException(DynamoDBError):
    """The token was used before, for another request."""


class ProvisionedThroughputExceededException(DynamoDBError):
    retryable = True


class ThrottlingException(DynamoDBError):
    retryable = True


class RequestLimitExceeded(DynamoDBError):
    retryable = True


class ExpiredIteratorException(DynamoDBError):
    """The shard iterator is older than fifteen minutes."""


class TrimmedDataAccessException(DynamoDBError):
    """The requested records are older than the stream's retention."""


class TableFencedException(DynamoDBError):
    """The table takes no writes for a moment, while a copy of it is completed; nothing was written."""

    status = 503
    retryable = True


class TableMovedException(DynamoDBError):
    """The items of the table are in another store, which the message names; nothing was written."""


class ServiceUnavailableException(DynamoDBError):
    """The store cannot write now; nothing was written."""

    status = 503
    retryable = True


class InternalServerError(DynamoDBError):
    status = 500
    retryable = True


class FolderBusy(TimeoutError):
    """Another process wrote to the folder for longer than the caller could wait; nothing of the work was written."""

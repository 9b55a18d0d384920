"""Requests in PartiQL: ExecuteStatement, BatchExecuteStatement, ExecuteTransaction."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from sortkey import limits
from sortkey.engine.requests.shapes import (
    AttributeValue,
    PositiveInteger,
    ReturnConsumedCapacity,
    ReturnValuesOnConditionCheckFailure,
    Shape,
)

StatementText = Annotated[str, Meta(min_length=1, max_length=limits.STATEMENT_CHARACTERS)]
Parameters = Annotated[list[AttributeValue], Meta(min_length=1)]


class ExecuteStatement(Shape, kw_only=True):
    statement: StatementText
    parameters: Parameters | None = None
    consistent_read: bool | None = None
    next_token: Annotated[str, Meta(min_length=1, max_length=32768)] | None = None
    return_consumed_capacity: ReturnConsumedCapacity | None = None
    limit: PositiveInteger | None = None
    return_values_on_condition_check_failure: ReturnValuesOnConditionCheckFailure | None = None


class BatchStatementRequest(Shape, kw_only=True):
    statement: StatementText
    parameters: Parameters | None = None
    consistent_read: bool | None = None
    return_values_on_condition_check_failure: ReturnValuesOnConditionCheckFailure | None = None


class BatchExecuteStatement(Shape, kw_only=True):
    statements: Annotated[list[BatchStatementRequest], Meta(min_length=1, max_length=limits.BATCH_STATEMENTS)]
    return_consumed_capacity: ReturnConsumedCapacity | None = None


class ParameterizedStatement(Shape, kw_only=True):
    statement: StatementText
    parameters: Parameters | None = None
    return_values_on_condition_check_failure: ReturnValuesOnConditionCheckFailure | None = None


class ExecuteTransaction(Shape, kw_only=True):
    transact_statements: Annotated[
        list[ParameterizedStatement], Meta(min_length=1, max_length=limits.TRANSACTION_ACTIONS)
    ]
    client_request_token: Annotated[str, Meta(min_length=1, max_length=36)] | None = None
    return_consumed_capacity: ReturnConsumedCapacity | None = None


OneStatement = ExecuteStatement | BatchStatementRequest | ParameterizedStatement
AnyStatements = ExecuteStatement | BatchExecuteStatement | ExecuteTransaction


def statements_of(request: AnyStatements) -> list[OneStatement]:
    if isinstance(request, ExecuteStatement):
        return [request]
    return [*(request.statements if isinstance(request, BatchExecuteStatement) else request.transact_statements)]

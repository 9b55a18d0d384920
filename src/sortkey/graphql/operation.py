"""One operation of a valid document, and its execution.

The compiled execution calls the resolvers of the root fields and writes what they return. If a resolver raised, or a
value cannot be written, graphql-core executes the operation, and gets the resolvers' outcomes again instead of calling
them: errors, nulls and their places in the answer are then its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from graphql import (
    DocumentNode,
    ExecutionResult,
    FieldNode,
    FragmentDefinitionNode,
    GraphQLError,
    GraphQLField,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLResolveInfo,
    GraphQLSchema,
    OperationDefinitionNode,
    OperationType,
    TypeNameMetaFieldDef,
    execute,
)
from graphql.execution.collect_fields import collect_fields
from graphql.execution.values import get_argument_values, get_variable_values
from graphql.pyutils import Path, is_awaitable
from strawberry.schema.schema_converter import GraphQLCoreConverter

from sortkey.graphql.compiled import TYPENAME, NotCompiled, NotWritten, Write, compiled
from sortkey.graphql.lru import Lru
from sortkey.graphql.schema import CALLS

MAX_ERRORS: Final = 10
MAX_PLANS: Final = 8
"""Of one operation, for different values of the variables in its conditions."""

SLICE: Final = 50
"""Elements of a list that are coerced at a time."""
NOT_BEGUN: Final = "Not begun, because the client has closed its connection."

_UNWRITABLE: Final = (NotWritten, AttributeError, TypeError, ValueError, ArithmeticError)
"""What a written value raises if it is not what the schema says."""


def _never() -> bool:
    return False


def _shifted(error: GraphQLError, name: str, start: int) -> GraphQLError:
    """The error of a list's part as that of the list: its message names the element by its place."""
    # The last one: before it, the message shows the value, which may be any text.
    before, at, after = error.message.rpartition(f" at '{name}[")
    place, bracket, rest = after.partition("]")
    if not at or not place.isdigit():
        return error
    return GraphQLError(
        f"{before}{at}{int(place) + start}{bracket}{rest}", error.nodes, original_error=error.original_error
    )


@dataclass(frozen=True, slots=True)
class RootField:
    name: str
    """In the answer."""
    nodes: list[FieldNode]
    field: GraphQLField
    calls: Callable[[Any, dict[str, Any]], Awaitable[Any]] | None
    """Instead of the field's resolver."""
    write: Write


Plan = tuple[RootField, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of a root field's resolver."""

    value: Any
    error: Exception | None = None

    async def again(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.value


class Operation:
    def __init__(
        self,
        schema: GraphQLSchema,
        document: DocumentNode,
        node: OperationDefinitionNode,
        conditions: tuple[str, ...],
    ) -> None:
        """`conditions` are the variables that decide which fields are included."""
        self.node = node
        self.is_mutation = node.operation is OperationType.MUTATION
        self._schema = schema
        self._document = document
        self._fragments = {
            each.name.value: each for each in document.definitions if isinstance(each, FragmentDefinitionNode)
        }
        root = schema.get_root_type(node.operation)
        assert isinstance(root, GraphQLObjectType)
        self._root = root
        self._conditions = conditions
        self._plans: Lru[tuple[Any, ...], Plan] = Lru(MAX_PLANS)

    async def coerced(self, raw: dict[str, Any]) -> dict[str, Any] | list[GraphQLError]:
        """The variables as the operation declares them, or what is wrong with them."""
        long = {name: value for name, value in raw.items() if isinstance(value, list) and len(value) > SLICE}
        if not long:
            return self._coerced(raw)
        # Short lists first: all that is wrong with the other variables, and with the types.
        coerced = self._coerced({**raw, **{name: value[:SLICE] for name, value in long.items()}})
        for name, value in long.items():
            for start in range(SLICE, len(value), SLICE):
                if isinstance(coerced, list):
                    return coerced
                # Other requests are answered meanwhile: to coerce ten thousand changes takes half a second.
                await asyncio.sleep(0)
                more = self._coerced({name: value[start : start + SLICE]}, name, start)
                if isinstance(more, list):
                    return more
                coerced[name] += more[name]
        return coerced

    def _coerced(
        self, raw: dict[str, Any], name: str | None = None, start: int = 0
    ) -> dict[str, Any] | list[GraphQLError]:
        """With a name, only this variable, a list whose first elements are left out."""
        declared = self.node.variable_definitions
        if name is not None:
            declared = tuple(each for each in declared if each.variable.name.value == name)
        coerced = get_variable_values(self._schema, declared, raw, max_errors=MAX_ERRORS)
        if isinstance(coerced, list) and name is not None:
            return [_shifted(error, name, start) for error in coerced]
        return coerced

    async def execute(
        self, context: Any, raw: dict[str, Any], variables: dict[str, Any], gone: Callable[[], bool] = _never
    ) -> ExecutionResult:
        """`raw` are the variables as they were sent, `variables` as they were coerced. When the client has `gone`, no
        further mutation is begun."""
        try:
            plan = self._plan(variables)
        except NotCompiled:
            return await self.execute_generally(context, raw)
        outcomes = await self._resolve(plan, context, variables, gone)
        try:
            if all(outcome.error is None for outcome in outcomes.values()):
                return ExecutionResult({field.name: field.write(outcomes[field.name].value) for field in plan})
        except _UNWRITABLE:
            # graphql-core finds the same, and says where.
            pass
        # Arguments matter no more, and graphql-core would coerce a long list all at once.
        short = {name: value[:1] if isinstance(value, list) else value for name, value in raw.items()}
        return await self.execute_generally(context, short, outcomes)

    async def execute_generally(
        self, context: Any, raw: dict[str, Any], outcomes: Mapping[str, Outcome] | None = None
    ) -> ExecutionResult:
        """By graphql-core. Resolvers that have these outcomes are not called again."""

        def outcome_or_call(call: Any, root: Any, info: GraphQLResolveInfo, **arguments: Any) -> Any:
            known = outcomes.get(str(info.path.key)) if outcomes and info.path.prev is None else None
            if known is None:
                return call(root, info, **arguments)
            # Not at once: graphql-core completes fields in the order in which their resolvers end.
            return known.again()

        result = execute(
            self._schema,
            self._document,
            context_value=context,
            variable_values=raw,
            operation_name=None if self.node.name is None else self.node.name.value,
            middleware=[outcome_or_call] if outcomes else None,
        )
        return result if isinstance(result, ExecutionResult) else await result

    def _plan(self, variables: Mapping[str, Any]) -> Plan:
        """Raises NotCompiled."""
        key = tuple(variables.get(name) for name in self._conditions)
        plan = self._plans.get(key)
        if plan is None:
            collected = collect_fields(
                self._schema, self._fragments, dict(variables), self._root, self.node.selection_set
            )
            plan = tuple(self._root_field(name, nodes, variables) for name, nodes in collected.items())
            self._plans.put(key, plan)
        return plan

    def _root_field(self, name: str, nodes: list[FieldNode], variables: Mapping[str, Any]) -> RootField:
        asked = nodes[0].name.value
        field = TypeNameMetaFieldDef if asked == TYPENAME else self._root.fields.get(asked)
        if field is None or field.resolve is None:
            raise NotCompiled
        declared = field.extensions.get(GraphQLCoreConverter.DEFINITION_BACKREF)
        calls = None if declared is None else declared.metadata.get(CALLS)
        return RootField(name, nodes, field, calls, compiled(self._schema, self._fragments, variables, field, nodes))

    async def _resolve(
        self, plan: Plan, context: Any, variables: dict[str, Any], gone: Callable[[], bool]
    ) -> dict[str, Outcome]:
        """Queries' fields at once, mutations' one after the other up to the first that ends all."""
        if len(plan) == 1:
            return {plan[0].name: await self._outcome(plan[0], context, variables)}
        if not self.is_mutation:
            found: Sequence[Outcome] = await asyncio.gather(
                *(self._outcome(field, context, variables) for field in plan)
            )
            return {field.name: outcome for field, outcome in zip(plan, found, strict=True)}
        outcomes: dict[str, Outcome] = {}
        for field in plan:
            if outcomes and gone():
                outcome = Outcome(None, GraphQLError(NOT_BEGUN))
            else:
                outcome = await self._outcome(field, context, variables)
            outcomes[field.name] = outcome
            if outcome.error is not None and isinstance(field.field.type, GraphQLNonNull):
                break
        return outcomes

    async def _outcome(self, field: RootField, context: Any, variables: dict[str, Any]) -> Outcome:
        resolve = field.field.resolve
        assert resolve is not None
        try:
            arguments = get_argument_values(field.field, field.nodes[0], variables)
            if field.calls is not None:
                return Outcome(await field.calls(context, arguments))
            value = resolve(None, self._info(field, context, variables), **arguments)
            return Outcome(await value if is_awaitable(value) else value)
        except Exception as error:  # noqa: BLE001  # graphql-core words it, or logs it
            return Outcome(None, error)

    def _info(self, field: RootField, context: Any, variables: dict[str, Any]) -> GraphQLResolveInfo:
        return GraphQLResolveInfo(
            field.nodes[0].name.value,
            field.nodes,
            field.field.type,
            self._root,
            Path(None, field.name, self._root.name),
            self._schema,
            self._fragments,
            None,
            self.node,
            variables,
            context,
            is_awaitable,
        )
